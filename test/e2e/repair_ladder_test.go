package e2e

import (
	"slices"
	"strings"
	"testing"

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
	} {
		t.Run(rung.name, func(t *testing.T) {
			t.Parallel()
			h := inRepair(t)
			h.reboots()
			sick := h.GPU(2)
			h.Must(h.Sim.ResetAs(sick.UUID, rung.as, rung.says))
			_, elsewhere := h.serve("elsewhere", 5)
			h.endsPods()
			h.edit(operands)
			h.inService()
			seen := h.record()
			h.sicken(2)

			if e := h.awaitEvent(rung.event); !strings.Contains(e.Note, rung.says) {
				t.Errorf("the event says %q, want %q", e.Note, rung.says)
			}
			h.restored(2)
			daemontest.Await(t, "the node is emptied", func() bool { return h.pod("elsewhere") == nil })
			h.awaitReboot(elsewhere.Kill)
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
	wants := []string{"Replace " + g.Name, g.Serial, g.UUID, g.PCI, "reset", "reboot", "another part is asked for"}
	var text string
	daemontest.Await(h.t, "the record asks for another part", func() bool {
		text = h.Call("events", "show", incident, "--url", h.URL())
		return strings.Contains(text, wants[len(wants)-1])
	})
	for _, want := range wants {
		if !strings.Contains(text, want) {
			h.t.Errorf("no %q in\n%s", want, text)
		}
	}
}
