package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	eventsv1 "k8s.io/api/events/v1"

	"github.com/gpuhealthd/gpuhealthd/remediate"
	"github.com/gpuhealthd/gpuhealthd/test/process"
)

// refused sickens a GPU that a process outside of pods holds, and returns once the
// reset is refused because of it.
func (h *repairHost) refused(gpu int, process string) (holder *process.Process, told eventsv1.Event) {
	h.t.Helper()
	h.inService()
	holder = h.hold(process, gpu, "")
	h.sicken(gpu)
	told = h.awaitEvent("ResetRefused")
	if want := fmt.Sprintf("process %d (%s)", holder.PID(), process); !strings.Contains(told.Note, want) {
		h.t.Errorf("the event says %q, want it to name %s", told.Note, want)
	}
	if len(h.resets()) > 0 {
		h.t.Errorf("resets of %v under a holder", h.resets())
	}
	return holder, told
}

// TestARefusedResetWaitsForItsHolder: one that does not go is told by name, is not
// bothered, and is waited for.
func TestARefusedResetWaitsForItsHolder(t *testing.T) {
	t.Parallel()
	h := inRepair(t)
	h.edit(operands)
	holder, told := h.refused(2, "nvtop")
	h.restored(2)
	h.looks(2)
	if log := h.Log(); len(h.resets()) > 0 || strings.Count(log, `"begun"`) != 2 { // the drain and the reset
		t.Errorf("resets %v, and the reset is tried again while its holder is there", h.resets())
	}
	holder.Kill()
	h.awaitBack()
	if got := h.resets(); !slices.Equal(got, []string{busID(h.GPU(2))}) {
		t.Errorf("resets of %v", got)
	}
	if again := h.awaitEvent("ResetRefused"); again.Name != told.Name {
		t.Errorf("refused twice: %q", again.Note)
	}
	h.restored(2)
}

// TestARefusedResetClimbsToAReboot where the site wants that, and the reboot ends the
// holder.
func TestARefusedResetClimbsToAReboot(t *testing.T) {
	t.Parallel()
	h := inRepair(t)
	h.reboots()
	h.Config.Repair.Reset.OnHolders = remediate.HolderReboot
	holder, _ := h.refused(2, "nvtop")
	h.awaitReboot(holder.Kill)
	h.awaitBack()
	h.awaitEvent("Rebooted")
	if len(h.resets()) > 0 {
		t.Errorf("resets of %v", h.resets())
	}
}
