package node

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Forever is the duration of a hang that ends only when the process does, or
// when it is taken back.
const Forever time.Duration = -1

// Lose takes a GPU off the bus: every call on it answers that it is lost. It
// comes back with the next reboot.
func (n *Node) Lose(gpu string) error {
	return n.edit(gpu, func(c *conf, i int) { c.set(i, "state", "lost") })
}

// Break loses a GPU for good: after the next reboot the driver does not list it.
func (n *Node) Break(gpu string) error {
	return n.edit(gpu, func(c *conf, i int) {
		c.set(i, "state", "lost")
		c.set(i, "after-reboot", "gone")
	})
}

// Restore undoes every fault of a GPU, hangs included: all but who it is and its
// MIG mode is again as "[gpu *]" has it.
func (n *Node) Restore(gpu string) error {
	own := []string{"name", "uuid", "serial", "part", "pci", "minor", "mig", "mig.layout", "platform.module"}
	return n.edit(gpu, func(c *conf, i int) {
		c.remove(i, func(key string) bool { return !slices.Contains(own, key) })
	})
}

// Hang lets a call ("nvmlDeviceGetFieldValues", or "*" for all) on a GPU, or
// with gpu "" on every GPU and on none, not return for d, or Forever. A
// duration of 0 takes the hang back: calls that are stuck in it return.
func (n *Node) Hang(call, gpu string, d time.Duration) error {
	seconds := strconv.FormatFloat(d.Seconds(), 'f', -1, 64)
	switch {
	case d == Forever:
		seconds = "forever"
	case d == 0:
		seconds = ""
	case d < 0:
		return fmt.Errorf("hang %s: negative duration %v", call, d)
	}
	return n.callFault("hang", call, gpu, seconds)
}

// FailCall lets a call, named as in Hang, answer with one of NVML's error codes,
// such as 999, "Unknown Error"; 0 takes it back. A container that lost its devices
// is "*" on every GPU.
func (n *Node) FailCall(call, gpu string, code int) error {
	switch {
	case code < 0:
		return fmt.Errorf("fail %s: negative code %d", call, code)
	case code == 0:
		return n.callFault("fail", call, gpu, "")
	}
	return n.callFault("fail", call, gpu, strconv.Itoa(code))
}

// Crash lets a call, named as in Hang, end the process that makes it with
// SIGSEGV, as a library with a wild pointer does. FailCall with 0 takes it back.
func (n *Node) Crash(call, gpu string) error { return n.callFault("fail", call, gpu, "crash") }

// callFault writes what is wrong with a call; an empty value takes it back.
func (n *Node) callFault(kind, call, gpu, value string) error {
	if call != "*" && !strings.HasPrefix(call, "nvml") {
		return fmt.Errorf("%s: call %q: want an NVML function's name or *", kind, call)
	}
	name := kind + "." + call
	change := func(c *conf, section int) {
		if value != "" {
			c.set(section, name, value)
			return
		}
		c.remove(section, func(key string) bool { return key == name })
	}
	if gpu == "" {
		return n.change(func(c *conf) error { change(c, nodeSection); return nil })
	}
	return n.edit(gpu, change)
}

// Recovery sets what the driver wants done with a GPU: the value of NVML's field
// 230, 0 (none) to 7.
func (n *Node) Recovery(gpu string, action int) error {
	if action < 0 || action > 7 {
		return fmt.Errorf("recovery action %d: want 0 to 7", action)
	}
	return n.Set(gpu, "recovery", strconv.Itoa(action))
}

// Remap sets a GPU's row remapping: none, pending or failed.
func (n *Node) Remap(gpu, state string) error {
	switch state {
	case "none", "pending", "failed":
		return n.edit(gpu, func(c *conf, i int) { c.set(i, "remap", state) })
	}
	return fmt.Errorf("remap %q: want none, pending or failed", state)
}

// Mismatch lets nvmlInit fail because library and driver have different
// versions, as after a driver update without a reboot. Processes that have NVML
// open are not affected.
func (n *Node) Mismatch(on bool) error {
	word := map[bool]string{false: "off", true: "on"}[on]
	return n.change(func(c *conf) error {
		c.set(nodeSection, "mismatch", word)
		return nil
	})
}

// edit changes one GPU's section of the control file.
func (n *Node) edit(gpu string, change func(c *conf, index int)) error {
	return n.change(func(c *conf) error {
		g, err := c.resolve(gpu)
		if err != nil {
			return err
		}
		change(c, g.Index)
		return nil
	})
}

func (n *Node) change(do func(c *conf) error) error {
	return n.locked(func() error {
		c, err := n.read()
		if err != nil {
			return err
		}
		if err := do(&c); err != nil {
			return err
		}
		return n.replace(controlFile, c.bytes())
	})
}
