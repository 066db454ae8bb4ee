package probe

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gpuhealthd/gpuhealthd/collector/nvml"
	"github.com/gpuhealthd/gpuhealthd/sim/node"
)

func (c *child) wish(word string) {
	c.t.Helper()
	if _, err := io.WriteString(c.stdin, word+"\n"); err != nil {
		c.t.Fatal(err)
	}
}

func (c *child) closed(want func(nvml.Closed) bool) {
	c.t.Helper()
	c.until(func(r nvml.Report) bool { return r.Closed != nil && want(*r.Closed) })
}

// devices lists the files that the child has open and that stand for the
// driver's.
func (c *child) devices() (list []string) {
	c.t.Helper()
	files, err := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", c.cmd.Process.Pid))
	must(c.t, err)
	for _, file := range files {
		if target, err := os.Readlink(file); err == nil && strings.Contains(target, "/dev/nvidia") {
			list = append(list, filepath.Base(target))
		}
	}
	return list
}

func TestLetsGo(t *testing.T) {
	c := start(t, newNode(t), simulated(t))
	for range 2 {
		c.inventory(anyInventory)
		if open := c.devices(); len(open) != 9 {
			t.Errorf("open while polling: %v, want nine", open)
		}
		c.wish("close")
		c.closed(nvml.Closed.Free)
		c.closed(nvml.Closed.Free) // it goes on saying so
		if open := c.devices(); len(open) != 0 {
			t.Errorf("open after it said that none is: %v", open)
		}
		c.wish("open")
	}
	c.inventory(anyInventory)
	c.wish("close")
	c.closed(nvml.Closed.Free)
	c.stdin.Close()
	if exit := c.ended(); exit != 0 {
		t.Errorf("exit %d, want 0", exit)
	}
}

// getStuck asks it to close until a call keeps it from that: it may be just
// outside the call.
func (c *child) getStuck(call string) {
	c.t.Helper()
	for {
		c.wish("close")
		answer := c.until(func(r nvml.Report) bool { return r.Closed != nil }).Closed
		if answer.Stuck != "" {
			if !strings.HasPrefix(call, answer.Stuck) {
				c.t.Errorf("stuck in %s, want %s", answer.Stuck, call)
			}
			return
		}
		c.wish("open")
		c.inventory(anyInventory)
	}
}

func TestCannotLetGo(t *testing.T) {
	for call, gpu := range map[string]string{"nvmlDeviceGetFieldValues": "5", "nvmlShutdown": "", "nvmlEventSetWait_v2": ""} {
		t.Run(call, func(t *testing.T) {
			t.Parallel()
			n := newNode(t)
			c := start(t, n, simulated(t))
			c.inventory(anyInventory)
			must(t, n.Hang(call, gpu, node.Forever))
			if gpu != "" {
				c.until(func(r nvml.Report) bool { return r.Hung != nil })
			}
			c.getStuck(call)
			if open := c.devices(); len(open) != 9 {
				t.Errorf("open while it is stuck: %v, want nine", open)
			}
			must(t, n.Hang(call, gpu, 0))
			c.closed(nvml.Closed.Free)
		})
	}
}

// A parent that changes its mind, and one that is newer than the child.
func TestOtherWords(t *testing.T) {
	c := start(t, newNode(t), simulated(t))
	c.wish("sing\nopen\nclose\nopen")
	c.inventory(anyInventory)
	c.wish("close")
	c.closed(nvml.Closed.Free)
}
