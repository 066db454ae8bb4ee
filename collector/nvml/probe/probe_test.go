package probe

import (
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gpuhealthd/gpuhealthd/collector/nvml"
	"github.com/gpuhealthd/gpuhealthd/sim/node"
)

func anyInventory(nvml.Inventory) bool { return true }

func TestHealthyInventory(t *testing.T) {
	n := newNode(t)
	inv := start(t, n, simulated(t)).inventory(anyInventory)
	if inv.Driver != "570.195.03" || inv.NVML != "12.570.195.03" {
		t.Errorf("versions %q, %q", inv.Driver, inv.NVML)
	}
	want, err := n.GPUs()
	must(t, err)
	if len(inv.GPUs) != len(want) {
		t.Fatalf("%d GPUs, want %d", len(inv.GPUs), len(want))
	}
	for i, g := range inv.GPUs {
		w := want[i]
		if g.Index != i || g.UUID != w.UUID || g.PCI.String() != w.PCI || g.Serial != w.Serial || g.Name != w.Name || g.Part != w.Part {
			t.Errorf("GPU %d: %+v, want %+v", i, g, w)
		}
		if g.Minor == nil || *g.Minor != i || g.MIG == nil || *g.MIG || g.Recovery == nil || *g.Recovery != 0 {
			t.Errorf("GPU %d: %+v: want minor %d, MIG off, recovery 0", i, g, i)
		}
		if g.Remap == nil || g.Remap.Pending || g.Remap.Failed || g.Lost || g.Stuck != "" || g.Error != nil {
			t.Errorf("GPU %d: %+v: want it healthy", i, g)
		}
	}
}

func TestLostWhileRunning(t *testing.T) {
	n := newNode(t)
	c := start(t, n, simulated(t))
	before := c.inventory(anyInventory)
	must(t, n.Lose("2"))
	inv := c.inventory(func(i nvml.Inventory) bool { return i.GPUs[2].Lost })
	lost := inv.GPUs[2]
	if lost.UUID != before.GPUs[2].UUID || lost.PCI != before.GPUs[2].PCI || lost.Serial == "" {
		t.Errorf("lost GPU is named %+v, want %+v", lost.Identity, before.GPUs[2].Identity)
	}
	if lost.Error == nil || lost.Error.Code != 15 || lost.Recovery != nil || lost.Remap != nil {
		t.Errorf("lost GPU: %+v: want error 15 and nothing else known", lost)
	}
	if len(inv.GPUs) != 8 || inv.GPUs[3].Recovery == nil {
		t.Errorf("a lost GPU hides others: %+v", inv.GPUs)
	}
	must(t, n.Restore("2"))
	c.inventory(func(i nvml.Inventory) bool { return !i.GPUs[2].Lost && i.GPUs[2].Recovery != nil })
}

func TestGoneBeforeStart(t *testing.T) {
	n := newNode(t)
	must(t, n.Break("0"))
	must(t, n.Reboot())
	inv := start(t, n, simulated(t)).inventory(anyInventory)
	if len(inv.GPUs) != 7 || inv.GPUs[0].PCI.String() != "0000:43:00" {
		t.Errorf("%d GPUs from %v, want 7 from 0000:43:00", len(inv.GPUs), inv.GPUs[0].PCI)
	}
}

func TestHangOnOneGPU(t *testing.T) {
	n := newNode(t)
	c := start(t, n, simulated(t))
	uuid := c.inventory(anyInventory).GPUs[5].UUID
	must(t, n.Hang("nvmlDeviceGetFieldValues", "5", node.Forever))

	hung := c.until(func(r nvml.Report) bool { return r.Hung != nil }).Hung
	if hung.Call != "nvmlDeviceGetFieldValues" || hung.Index == nil || *hung.Index != 5 || hung.UUID != uuid {
		t.Errorf("hung: %+v", hung)
	}
	if hung.Seconds < deadline.Seconds() {
		t.Errorf("hung for %v s, below the deadline", hung.Seconds)
	}
	must(t, n.Recovery("6", 1)) // the others go on being asked
	inv := c.inventory(func(i nvml.Inventory) bool { return i.GPUs[6].Recovery != nil && *i.GPUs[6].Recovery == 1 })
	if g := inv.GPUs[5]; g.Stuck != "nvmlDeviceGetFieldValues" || g.UUID != uuid || g.Recovery != nil || g.Lost {
		t.Errorf("stuck GPU: %+v", g)
	}
	later := c.until(func(r nvml.Report) bool { return r.Hung != nil }).Hung
	if later.Seconds <= hung.Seconds {
		t.Errorf("hung for %v s, then for %v s: it was asked a second time", hung.Seconds, later.Seconds)
	}
	must(t, n.Hang("nvmlDeviceGetFieldValues", "5", 0))
	c.inventory(func(i nvml.Inventory) bool { return i.GPUs[5].Stuck == "" && i.GPUs[5].Recovery != nil })
}

func TestHangInInit(t *testing.T) {
	n := newNode(t)
	must(t, n.Hang("nvmlInit_v2", "", node.Forever))
	c := start(t, n, simulated(t))
	r, _ := c.next()
	if r.Hung == nil || r.Hung.Call != "nvmlInit" || r.Hung.Index != nil {
		t.Fatalf("first report %+v, want nvmlInit hung", r)
	}
	must(t, n.Hang("nvmlInit_v2", "", 0))
	c.inventory(anyInventory)
}

// A wait for events that does not return is told beside the polls, once it is past
// its own time and a deadline; a registration is its GPU's call.
func TestHangBesideThePolls(t *testing.T) {
	lib := simulated(t)
	t.Run("wait", func(t *testing.T) {
		t.Parallel()
		n := newNode(t)
		c := start(t, n, lib)
		c.inventory(anyInventory)
		must(t, n.Hang("nvmlEventSetWait_v2", "", node.Forever))
		inv := c.inventory(func(i nvml.Inventory) bool { return i.Stuck != nil })
		if h := inv.Stuck; h.Call != "nvmlEventSetWait" || h.Index != nil || h.Seconds < deadline.Seconds() {
			t.Errorf("stuck: %+v", h)
		}
		if g := inv.GPUs[7]; g.Stuck != "" || g.Recovery == nil {
			t.Errorf("GPU 7: %+v, want it polled", g)
		}
		must(t, n.Hang("nvmlEventSetWait_v2", "", 0))
		c.inventory(func(i nvml.Inventory) bool { return i.Stuck == nil })
	})
	t.Run("register", func(t *testing.T) {
		t.Parallel()
		n := newNode(t)
		must(t, n.Hang("nvmlDeviceRegisterEvents", "6", node.Forever))
		c := start(t, n, lib)
		h := c.until(func(r nvml.Report) bool { return r.Hung != nil }).Hung
		if h.Call != "nvmlDeviceRegisterEvents" || *h.Index != 6 || h.UUID == "" {
			t.Errorf("hung: %+v", h)
		}
		inv := c.inventory(anyInventory)
		if inv.Stuck != nil || inv.GPUs[6].Stuck != h.Call || inv.GPUs[5].Stuck != "" {
			t.Errorf("%+v", inv)
		}
		must(t, n.Hang("nvmlDeviceRegisterEvents", "6", 0))
		c.inventory(func(i nvml.Inventory) bool { return i.GPUs[6].Stuck == "" && i.GPUs[6].Recovery != nil })
	})
}

func TestRemapAndRecovery(t *testing.T) {
	n := newNode(t)
	must(t, n.Remap("1", "pending"))
	must(t, n.Remap("2", "failed"))
	must(t, n.Recovery("3", 4))
	inv := start(t, n, simulated(t)).inventory(anyInventory)
	if r := inv.GPUs[1].Remap; !r.Pending || r.Failed {
		t.Errorf("GPU 1: remap %+v, want pending", r)
	}
	if r := inv.GPUs[2].Remap; r.Pending || !r.Failed {
		t.Errorf("GPU 2: remap %+v, want failed", r)
	}
	if r := inv.GPUs[3].Recovery; *r != 4 {
		t.Errorf("GPU 3: recovery %d, want 4", *r)
	}
}

func TestPollAtOnce(t *testing.T) {
	c := startEvery(t, time.Hour, newNode(t), simulated(t))
	c.inventory(anyInventory)
	if _, err := c.stdin.Write([]byte("poll\n")); err != nil {
		t.Fatal(err)
	}
	c.inventory(anyInventory)
}

// As in a container that lost its devices: nothing is known but who they were.
func TestEveryCallFails(t *testing.T) {
	n := newNode(t)
	c := start(t, n, simulated(t))
	uuid := c.inventory(anyInventory).GPUs[7].UUID
	must(t, n.FailCall("*", "", 999))
	// A poll that was under way has asked some of them before.
	inv := c.inventory(func(i nvml.Inventory) bool {
		return !slices.ContainsFunc(i.GPUs, func(g nvml.GPU) bool { return g.Error == nil })
	})
	for _, g := range inv.GPUs {
		if g.Error == nil || g.Error.Code != 999 || g.Lost || g.Recovery != nil || g.UUID == "" {
			t.Errorf("%+v: want error 999 and nothing known", g)
		}
	}
	must(t, n.FailCall("*", "", 0))
	back := c.inventory(func(i nvml.Inventory) bool { return i.GPUs[7].Error == nil }).GPUs[7]
	if back.UUID != uuid || back.Persistence == nil {
		t.Errorf("%+v: want %s, and the slow values again", back, uuid)
	}
}

func TestInitFails(t *testing.T) {
	lib := simulated(t)
	tests := []struct {
		name, lib string
		prepare   func(n *node.Node) error
		code      int
		text      string
	}{
		{"mismatch", lib, func(n *node.Node) error { return n.Mismatch(true) }, 18, "Driver/library version mismatch, library 12.570.195.03"},
		{"absent", t.TempDir(), func(*node.Node) error { return nil }, 12, "LIBRARY_NOT_FOUND"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			n := newNode(t)
			must(t, tt.prepare(n))
			c := start(t, n, tt.lib)
			r, _ := c.next()
			if r.Failed == nil || r.Failed.Op != "nvmlInit" || r.Failed.Code != tt.code || !strings.Contains(r.Failed.Text, tt.text) {
				t.Errorf("report %+v (%v), want nvmlInit failed with %d", r, r.Failed, tt.code)
			}
			if exit := c.ended(); exit != 1 {
				t.Errorf("exit %d, want 1", exit)
			}
		})
	}
}

func TestOldLibrary(t *testing.T) {
	inv := start(t, newNode(t), simulated(t)+"/old").inventory(anyInventory)
	for _, g := range inv.GPUs {
		if g.UUID == "" || g.MIG != nil || g.Remap != nil || g.Recovery != nil || g.Error != nil {
			t.Errorf("%+v: want it named, the rest unknown and no error", g)
		}
	}
}

func TestEnds(t *testing.T) {
	lib := simulated(t)
	end := map[string]func(c *child){
		"EOF":     func(c *child) { c.stdin.Close() },
		"SIGTERM": func(c *child) { c.cmd.Process.Signal(syscall.SIGTERM) },
	}
	calls := []string{"", "nvmlDeviceGetName", "nvmlShutdown", "nvmlInit_v2"}
	for how, do := range end {
		for _, call := range calls {
			t.Run(how+call, func(t *testing.T) {
				t.Parallel()
				n := newNode(t)
				if call != "" {
					must(t, n.Hang(call, "", node.Forever))
				}
				c := start(t, n, lib)
				if !slices.Contains([]string{"", "nvmlShutdown"}, call) {
					c.until(func(r nvml.Report) bool { return r.Hung != nil })
				} else {
					c.inventory(anyInventory)
				}
				do(c)
				if exit := c.ended(); exit != 0 {
					t.Errorf("exit %d, want 0", exit)
				}
			})
		}
	}
}
