package e2e

import (
	"strings"
	"testing"

	"github.com/gpuhealthd/gpuhealthd/test/daemontest"
)

// TestKilledInAReset: the daemon is killed with SIGKILL right before or right after
// the GPU is reset. The next one puts back what it has changed, resets nothing again,
// and goes on by what it sees.
func TestKilledInAReset(t *testing.T) {
	for _, moment := range []struct {
		name, before, after string
		then                func(h *repairHost)
	}{
		{"before it was reset", "kill -9 $PPID; exit 1", "", func(h *repairHost) { h.awaitEvent("RebootRequested") }},
		{"after it was reset", "", "kill -9 $PPID", func(h *repairHost) { h.awaitBack() }},
	} {
		t.Run(moment.name, func(t *testing.T) {
			t.Parallel()
			h := inRepair(t)
			h.smi(moment.before, moment.after)
			h.edit(operands)
			h.inService()
			h.sicken(2)
			h.AwaitKilled()
			if on, err := h.Sim.Persistence(h.GPU(2).UUID); err != nil || on {
				t.Fatalf("persistence mode is on: %t, %v; the test would show nothing", on, err)
			}
			if label := h.object().Labels["nvidia.com/gpu.deploy.dcgm"]; label == "true" {
				t.Fatal("the operator's services are not paused; the test would show nothing")
			}
			h.smi("", "")
			h.StartReady()
			moment.then(h)
			h.awaitEvent("ResetUndecided")
			h.restored(2)
			if got := h.resets(); len(got) != 1 {
				t.Errorf("resets of %v", got)
			}
			if strings.Contains(h.Log(), "cannot be put back") {
				t.Error("something could not be put back")
			}
		})
	}
}

// TestKilledInADrain: the next daemon goes on where that one was.
func TestKilledInADrain(t *testing.T) {
	t.Parallel()
	h := inRepair(t)
	h.draining(2)
	h.Kill()
	h.budget(1)
	h.StartReady()
	h.awaitBack()
	for _, reason := range []string{"NodeQuarantined", "DrainStarted", "Drained", "ResetDone"} {
		h.awaitEvent(reason)
	}
	if got := h.resets(); len(got) != 1 || h.pod("serving") != nil {
		t.Errorf("resets of %v, and the pod is %+v", got, h.pod("serving"))
	}
}

// TestStoppedInAReset: a daemon that is stopped in order ends the driver's tool, and
// puts back what it has changed before it ends.
func TestStoppedInAReset(t *testing.T) {
	t.Parallel()
	h := inRepair(t)
	h.smi("sleep 1000", "")
	h.edit(operands)
	h.inService()
	h.sicken(2)
	daemontest.Await(t, "the GPU is being reset", func() bool { return len(h.resets()) > 0 })
	h.Stop()
	h.restored(2)
	h.smi("", "")
	h.StartReady()
	h.awaitEvent("ResetUndecided")
	h.awaitEvent("RebootRequested")
	if got := h.resets(); len(got) != 1 {
		t.Errorf("resets of %v", got)
	}
}
