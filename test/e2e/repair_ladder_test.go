package e2e

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/gpuhealthd/gpuhealthd/fault"
	"github.com/gpuhealthd/gpuhealthd/sim/node"
	"github.com/gpuhealthd/gpuhealthd/test/daemontest"
)

// TestTheLadder: a reset that does not help, whether it says so or not, then a reboot,
// which empties the whole node and is told by the boot's id; and the next fault of the
// same GPU asks for another one.
func TestTheLadder(t *testing.T) {
	for _, rung := range []struct{ name, as, says, event string }{
		{"the reset fails", node.ResetFails, "Unable to reset", "ResetFailed"},
		{"the reset heals nothing", node.ResetHealsNothing, "", "ResetDone"},
		{"the reset hangs", node.ResetHangs, "", "ResetFailed"},
	} {
		t.Run(rung.name, func(t *testing.T) {
			t.Parallel()
			h := inRepair(t)
			h.reboots()
			h.Config.Repair.Reset.Deadline = shortest
			sick := h.GPU(2)
			h.Must(h.Sim.ResetAs(sick.UUID, rung.as, rung.says))
			_, elsewhere := h.serve("elsewhere", 5)
			h.kubelet.EndPods(t, h.admin, h.name, func(*corev1.Pod) { elsewhere.Kill() })
			h.edit(operands)
			h.inService()
			seen := h.record()
			h.sicken(2)

			if e := h.awaitEvent(rung.event); !strings.Contains(e.Note, rung.says) {
				t.Errorf("the event says %q, want %q", e.Note, rung.says)
			}
			h.restored(2)
			daemontest.Await(t, "the node is emptied", func() bool { return h.pod("elsewhere") == nil })
			h.awaitReboot(func() {})
			h.awaitBack()
			h.awaitEvent("Rebooted")
			if got := h.resets(); !slices.Equal(got, []string{busID(sick)}) {
				t.Errorf("resets of %v", got)
			}
			for _, v := range h.versions(seen) {
				if v.Labels["gpuhealthd.io/state"] == "failed" {
					t.Error("a repair was left, and the Node was failed")
				}
			}

			h.sicken(2)
			h.awaitState("failed")
			i := awaitOpen(t, h.Daemon, fault.XID95, sick.UUID)
			h.replaces(i.Verdict.ID, sick)
			if len(h.resets()) != 1 {
				t.Errorf("reset again: %v", h.resets())
			}
		})
	}
}

// replaces fails the test unless an incident's record asks a person for another board,
// and says why.
func (h *repairHost) replaces(incident string, g node.GPU) {
	h.t.Helper()
	bundle := filepath.Join(filepath.Dir(h.Config.State.Path), "evidence", incident+".jsonl")
	daemontest.Await(h.t, "the replacement is on record", func() bool {
		text, err := os.ReadFile(bundle)
		return err == nil && strings.Contains(string(text), `"kind":"replacement"`)
	})
	text := h.Call("events", "show", incident, "--url", h.URL())
	for _, want := range []string{"Replace " + g.Name, g.Serial, g.UUID, g.PCI, "a reset of", "a reboot of", "another part is asked for"} {
		if !strings.Contains(text, want) {
			h.t.Errorf("no %q in\n%s", want, text)
		}
	}
}
