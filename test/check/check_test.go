package check

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/gpuhealthd/gpuhealthd/sim/node"
	"github.com/gpuhealthd/gpuhealthd/test/daemontest"
)

// says fails the test unless a check says so: its result, and a part of its first
// finding's name and text.
func (a answer) says(t *testing.T, result, text string) {
	t.Helper()
	first := ""
	if len(a.Findings) > 0 {
		first = a.Findings[0].Check + ": " + a.Findings[0].Text
	}
	if a.Result != result || !strings.Contains(first, text) {
		t.Errorf("it says %+v; want %s, %s", a, result, text)
	}
}

func TestWithoutADaemon(t *testing.T) {
	for name, c := range map[string]struct {
		more         string // configuration
		happens      func(h *host) error
		result, text string
		gpus         int // that there are; -1 is not known
	}{
		"healthy": {"", func(*host) error { return nil }, "healthy", "", 8},
		"a fault of this boot that the driver bears out": {"", func(h *host) error {
			h.Say(daemontest.XID(h.GPU(2).PCI, daemontest.Uncontained))
			return h.Sim.Recovery("2", 1)
		}, "faulty", "xid-95: ", 8},
		"a fault that only the driver tells": {"", func(h *host) error { return h.Sim.Remap("2", "failed") }, "faulty", "remap-failed: ", 8},
		"a fault of this boot that is over": {"", func(h *host) error {
			h.Say(daemontest.XID(h.GPU(2).PCI, daemontest.Uncontained))
			return nil
		}, "degraded", "xid-95: ", 8},
		"a program's own fault": {"", func(h *host) error {
			h.Say(daemontest.XID(h.GPU(2).PCI, "31, pid=1, name=x, Ch 00000003"))
			return nil
		}, "healthy", "", 8},
		"a GPU that is missed":                  {", expect: 8", func(h *host) error { return h.Sim.Lose("2") }, "faulty", "gpu-lost: ", 8},
		"the driver and its library do not fit": {"", func(h *host) error { return h.Sim.Mismatch(true) }, "unknown", "driver: nvmlInit: Driver/library version mismatch", -1},
		"one call hangs":                        {"", func(h *host) error { return h.Sim.Hang("nvmlDeviceGetName", "2", node.Forever) }, "unknown", "driver: nvmlDeviceGetName on index 2 does not return", 7},
		"every call hangs":                      {"", func(h *host) error { return h.Sim.Hang("*", "", node.Forever) }, "unknown", "does not return", -1},
		"no library":                            {"", func(h *host) error { h.Env = h.Env[:1]; return nil }, "unknown", "driver: ", -1},
		"no folder for what is temporary":       {"", func(h *host) error { h.Env = append(h.Env, "TMPDIR=/nowhere"); return nil }, "healthy", "", 8},
		"no kernel log":                         {"", func(h *host) error { return os.Remove(h.Sim.KmsgPath()) }, "unknown", "kernel-log: ", 8},
		"an earlier child is stuck":             {"", func(h *host) error { return hold(h.t, filepath.Join(h.state, "check")) }, "unknown", "driver: ", -1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHost(t, c.more)
			h.Must(c.happens(h))
			a := h.check()
			a.says(t, c.result, c.text)
			if c.gpus < 0 != (a.GPUs == nil) || a.GPUs != nil && *a.GPUs != c.gpus {
				t.Errorf("GPUs: %v", a.GPUs)
			}
			if _, err := os.Stat(filepath.Join(h.state, "state.db")); err == nil {
				t.Error("it has left a memory")
			}
		})
	}
}

// hold locks a folder as a child does that has outlived its check.
func hold(t testing.TB, path string) error {
	if err := os.MkdirAll(path, 0o755); err != nil {
		return err
	}
	lock, err := os.Open(path)
	if err != nil {
		return err
	}
	t.Cleanup(func() { lock.Close() })
	return syscall.Flock(int(lock.Fd()), syscall.LOCK_EX)
}

// TestBesideADaemon: its word counts, history and all, and it alone asks the driver.
func TestBesideADaemon(t *testing.T) {
	t.Parallel()
	h := newHost(t, "")
	h.StartReady()
	url := "--url=" + h.URL()
	a := h.check(url)
	if a.says(t, "healthy", ""); a.Source != "daemon" {
		t.Errorf("the source is %q", a.Source)
	}
	h.Must(h.Sim.Lose("2"))
	h.Say(daemontest.XID(h.GPU(2).PCI, daemontest.OffTheBus))
	daemontest.Await(t, "the daemon has judged", func() bool { return len(h.Status().Incidents) > 0 })
	h.check(url).says(t, "faulty", "xid-79: GPU has fallen off the bus")
	if a = h.check(url, "--skip", "xid-79,gpu-lost"); a.GPUs == nil || *a.GPUs != 8 || *a.Healthy != 7 {
		t.Errorf("%d GPUs, %d healthy", *a.GPUs, *a.Healthy)
	}
	a.says(t, "healthy", "")
	h.check("--url=http://127.0.0.1:1", "--skip", "xid-79,gpu-lost").says(t, "healthy", "")
}

// TestADaemonThatDoesNotAnswer is not worked around: its child may be stuck, and
// another would be so too.
func TestADaemonThatDoesNotAnswer(t *testing.T) {
	t.Parallel()
	h := newHost(t, "")
	h.StartReady()
	h.Must(syscall.Kill(h.PID(), syscall.SIGSTOP))
	defer func() { h.Must(syscall.Kill(h.PID(), syscall.SIGCONT)) }()
	a := h.check("--url="+h.URL(), "--deadline=1s")
	if a.says(t, "unknown", "daemon: ask the daemon"); a.Source != "daemon" {
		t.Errorf("the source is %q", a.Source)
	}
}
