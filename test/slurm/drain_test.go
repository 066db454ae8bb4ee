package slurm

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestAFaultDrainsAndItsEndResumes: the job that runs is left to its end, no other
// begins, and a healthy node is given back.
func TestAFaultDrainsAndItsEndResumes(t *testing.T) {
	t.Parallel()
	h := onSlurm(t)
	h.StartReady()
	end := filepath.Join(t.TempDir(), "end")
	job := h.slurm.Job("job", "until test -e "+end+"; do sleep 0.1; done")
	h.sicken(2)
	h.slurm.AwaitState(`MIXED\+DRAIN`)
	h.slurm.AwaitReason(h.ours("xid-95", 2))
	h.heal(2)
	h.AwaitLog(`"reason":"ProbationStarted"`)
	touch(t, end)
	succeeds(t, job)
	h.slurm.AwaitState("IDLE")
	if reason := h.slurm.Reason(); reason != "" {
		t.Errorf("the reason is still %q", reason)
	}
	succeeds(t, h.slurm.Job("after", "true"))
}

// TestAnAdministratorsDrainStays: whoever drained first has the reason and the last
// word; and so has who drains again over ours.
func TestAnAdministratorsDrainStays(t *testing.T) {
	t.Parallel()
	h := onSlurm(t)
	h.StartReady()
	h.slurm.Update("state=drain", "reason=DIMM B2 - bob")
	h.sicken(2)
	h.AwaitLog(`"reason":"NodeQuarantined"`, "stays an administrator's")
	h.heal(2)
	h.awaitOver()
	h.slurm.AwaitReason("DIMM B2 - bob")
	h.slurm.AwaitState(`IDLE\+DRAIN`)

	h.slurm.Update("state=resume")
	h.slurm.AwaitState("IDLE")
	h.sicken(3)
	h.slurm.AwaitReason(h.ours("xid-95", 3))
	mine := h.slurm.Reason() + ", keep for the vendor - bob"
	h.slurm.Update("reason=" + mine)
	h.heal(3)
	h.awaitOver()
	if !h.slurm.Drained() || h.slurm.Reason() != mine {
		t.Errorf("the node is %s, %q", h.slurm.State(), h.slurm.Reason())
	}
}

// TestAnAdministratorsResumeWins: for that incident, over a restart of the agent, and
// not for the next.
func TestAnAdministratorsResumeWins(t *testing.T) {
	t.Parallel()
	h := onSlurm(t)
	h.StartReady()
	h.sicken(2)
	h.slurm.AwaitReason(h.ours("xid-95", 2))
	h.AwaitLog(`"reason":"NodeQuarantined"`)
	h.Stop()
	h.slurm.Update("state=resume")
	h.slurm.AwaitState("IDLE")
	h.StartReady()
	h.AwaitLog(`"reason":"ClaimEnded"`)
	h.sicken(5)
	h.slurm.AwaitReason(h.ours("xid-95", 5))
	if text := h.StatusText(); !strings.Contains(text, "released by an administrator") {
		t.Errorf("the status does not tell of the release:\n%s", text)
	}
}

// TestTheControllerIsAway: what is wanted is kept and done when it is back, also by
// an agent that was killed meanwhile.
func TestTheControllerIsAway(t *testing.T) {
	t.Parallel()
	h := onSlurm(t)
	h.StartReady()
	h.slurm.StopController()
	h.sicken(2)
	h.awaitTrouble("Unable to contact slurm controller")
	h.Kill()
	h.StartReady()
	h.slurm.StartController()
	h.slurm.AwaitReason(h.ours("xid-95", 2))
	h.AwaitLog(`"reason":"NodeQuarantined"`)

	h.slurm.StopController()
	h.heal(2)
	h.AwaitLog(`"reason":"ProbationServed"`)
	h.slurm.StartController()
	h.slurm.AwaitState("IDLE")
}

// TestWhatSlurmRefuses is told in its own words, and tried again.
func TestWhatSlurmRefuses(t *testing.T) {
	t.Parallel()
	h := onSlurm(t)
	h.Config.Slurm.Node = "nowhere"
	h.StartReady()
	h.awaitTrouble("Node nowhere not found")
	h.Stop()

	h.Config.Slurm.Node, h.Config.Slurm.Scontrol = "gpu1", []string{"setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups", "scontrol"}
	h.StartReady()
	h.sicken(2)
	h.awaitTrouble("forbidden", "Invalid user id")
	h.AwaitLog(`"reason":"NodeWriteForbidden"`)
	h.Stop()

	h.Config.Slurm.Scontrol = []string{"scontrol"}
	h.StartReady()
	h.slurm.AwaitReason(h.ours("xid-95", 2))
}
