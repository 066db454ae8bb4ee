package node

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
)

// dcgmFile is the control file of the node's DCGM engine; sim/dcgm/conf.h says
// what may stand there.
const dcgmFile = "dcgm.conf"

// DCGM is the node's DCGM engine. There is none until Start.
type DCGM struct {
	node *Node
}

// DCGM gives the node's engine.
func (n *Node) DCGM() DCGM { return DCGM{n} }

// Start starts the engine at an address (HOST:PORT, or the path of a unix
// socket), or starts it anew: connections to the old one break, and its XIDs are
// forgotten. What else was set stays.
func (d DCGM) Start(address string) error {
	return d.node.locked(func() error {
		c, err := d.read()
		if errors.Is(err, fs.ErrNotExist) {
			c, err = d.fresh()
		}
		if err != nil {
			return err
		}
		generation, _ := strconv.Atoi(c.get(nodeSection, "generation")) // 0 before the first
		c.set(nodeSection, "engine", "up")
		c.set(nodeSection, "address", address)
		c.set(nodeSection, "generation", strconv.Itoa(generation+1))
		c.remove(nodeSection, has("violation."))
		for i := range c.count() {
			c.remove(i, has("xid."))
		}
		return d.node.replace(dcgmFile, c.bytes())
	})
}

// Stop stops the engine as SIGSTOP does: calls on it wait. Continue ends that.
func (d DCGM) Stop() error { return d.Set("engine", "stopped") }

// Continue lets a stopped engine run.
func (d DCGM) Continue() error { return d.Set("engine", "up") }

// Kill ends the engine: every call on it answers -21 at once.
func (d DCGM) Kill() error { return d.Set("engine", "down") }

// Set sets one of: engine (up, stopped, down), mismatch (on, off), driver (on,
// off), switches (their number), version, patience (seconds).
func (d DCGM) Set(key, value string) error {
	known := []string{"engine", "mismatch", "driver", "switches", "version", "patience"}
	if !slices.Contains(known, key) || value == "" {
		return fmt.Errorf("dcgm: %q = %q: want a value of one of %s", key, value, strings.Join(known, ", "))
	}
	return d.change(func(c *conf) { c.set(nodeSection, key, value) })
}

// State gives what the engine is (up, stopped, down) and its address; down where
// there is none.
func (d DCGM) State() (engine, address string, err error) {
	c, err := d.read()
	if errors.Is(err, fs.ErrNotExist) {
		return "down", "", nil
	}
	return c.get(nodeSection, "engine"), c.get(nodeSection, "address"), err
}

// Field gives a GPU's field a value; an empty one undoes that.
func (d DCGM) Field(gpu string, id int, value string) error {
	return d.entry(gpu, fmt.Sprintf("field.%d", id), value)
}

// Blank lets every value of a GPU be blank, or not any more.
func (d DCGM) Blank(gpu string, on bool) error {
	return d.entry(gpu, "blank", map[bool]string{false: "off", true: "on"}[on])
}

// XID lets the driver tell the engine of an XID: it sticks until the engine is
// started anew, and violates the policy of XIDs.
func (d DCGM) XID(gpu string, code int) error {
	if err := d.add(gpu, "xid.", fmt.Sprintf("%d %d driver", code, time.Now().UnixMicro())); err != nil {
		return err
	}
	return d.Violation(gpu, "xid", code)
}

// KmsgXID lets the engine read an XID from the kernel log: its field shows it,
// health checks and policies do not.
func (d DCGM) KmsgXID(gpu string, code int) error {
	return d.add(gpu, "xid.", fmt.Sprintf("%d %d kmsg", code, time.Now().UnixMicro()))
}

// Violation reports a violation of a policy: dbe, pcie, retired-pages, thermal,
// power, nvlink or xid. What was reported before a client listens, it never hears.
func (d DCGM) Violation(gpu, condition string, value int) error {
	g, err := d.node.GPU(gpu)
	if err != nil {
		return err
	}
	return d.change(func(c *conf) {
		c.set(nodeSection, c.next(nodeSection, "violation."), fmt.Sprintf("%d %s %d", g.Index, condition, value))
	})
}

// Incident adds one to every health check. Group (1 is a GPU, 3 a switch, 6 a
// link), system, code and result (10 warning, 20 failure) are DCGM's numbers.
func (d DCGM) Incident(group, id, system, code, result int) error {
	return d.change(func(c *conf) {
		value := fmt.Sprintf("%d %d %#x %d %d", group, id, system, code, result)
		c.set(nodeSection, c.next(nodeSection, "incident."), value)
	})
}

// Fail lets a call ("dcgmHealthCheck") answer with a code; 0 undoes that.
func (d DCGM) Fail(call string, code int) error {
	return d.ofCall("fail.", call, strconv.Itoa(code), code != 0)
}

// Hang lets a call take so long; 0 undoes that, and calls in it return.
func (d DCGM) Hang(call string, took time.Duration) error {
	return d.ofCall("hang.", call, strconv.FormatFloat(took.Seconds(), 'f', -1, 64), took != 0)
}

func (d DCGM) ofCall(prefix, call, value string, set bool) error {
	if !strings.HasPrefix(call, "dcgm") {
		return fmt.Errorf("dcgm: call %q: want a DCGM function's name", call)
	}
	return d.change(func(c *conf) {
		if set {
			c.set(nodeSection, prefix+call, value)
			return
		}
		c.remove(nodeSection, func(key string) bool { return key == prefix+call })
	})
}

// entry sets a key of a GPU, or with an empty value takes it out.
func (d DCGM) entry(gpu, key, value string) error {
	g, err := d.node.GPU(gpu)
	if err != nil {
		return err
	}
	return d.change(func(c *conf) {
		if value != "" {
			c.set(g.Index, key, value)
			return
		}
		c.remove(g.Index, func(k string) bool { return k == key })
	})
}

// add adds a numbered key to a GPU.
func (d DCGM) add(gpu, prefix, value string) error {
	g, err := d.node.GPU(gpu)
	if err != nil {
		return err
	}
	return d.change(func(c *conf) { c.set(g.Index, c.next(g.Index, prefix), value) })
}

func (d DCGM) change(do func(c *conf)) error {
	return d.node.locked(func() error {
		c, err := d.read()
		if err != nil {
			return err
		}
		do(&c)
		return d.node.replace(dcgmFile, c.bytes())
	})
}

func (d DCGM) read() (conf, error) {
	text, err := os.ReadFile(d.node.path(dcgmFile))
	if err != nil {
		return conf{}, fmt.Errorf("simulated engine (make one with dcgm start): %w", err)
	}
	return parseConf(text), nil
}

// fresh is the control file of an engine that finds nothing wrong.
func (d DCGM) fresh() (conf, error) {
	node, err := d.node.read()
	if err != nil {
		return conf{}, err
	}
	return parseConf([]byte("version = 4.6.0\npatience = 60\n" + node.bare())), nil
}

// next is the first number of a key that is not taken, from 1.
func (c conf) next(section int, prefix string) string {
	for i := 1; ; i++ {
		if key := prefix + strconv.Itoa(i); c.find(section, key) < 0 {
			return key
		}
	}
}

func has(prefix string) func(key string) bool {
	return func(key string) bool { return strings.HasPrefix(key, prefix) }
}
