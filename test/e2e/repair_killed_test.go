package e2e

import (
	"strings"
	"testing"
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
