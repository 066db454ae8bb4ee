package slurm

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/gpuhealthd/gpuhealthd/internal/config"
	"github.com/gpuhealthd/gpuhealthd/remediate"
	"github.com/gpuhealthd/gpuhealthd/test/daemontest"
)

// TestSlurmReboots: the jobs are waited for, Slurm reboots and resumes the node by its
// own rule, and the agent keeps it until the repair is seen to have worked.
func TestSlurmReboots(t *testing.T) {
	t.Parallel()
	h := onSlurm(t)
	h.Config.Mode = remediate.Repair
	h.Config.Repair.Drain.Mode, h.Config.Repair.Reboot.Mode = remediate.MeansSlurm, remediate.MeansSlurm
	h.Config.Contain.Probation = config.Duration(5 * time.Second)
	// This machine may hide processes from its root; on the simulated node there are none.
	h.Config.Repair.Proc, h.Config.Repair.Dev = t.TempDir(), filepath.Dir(h.Sim.Device("0"))
	h.StartReady()
	end := filepath.Join(t.TempDir(), "end")
	job := h.slurm.Job("job", "until test -e "+end+"; do sleep 0.1; done")
	g := h.GPU(4)
	h.Must(h.Sim.Lose(g.UUID))
	h.Say(daemontest.XID(g.PCI, daemontest.OffTheBus))
	h.slurm.AwaitState(`MIXED\+DRAIN`)
	h.AwaitLog(`"reason":"DrainStarted"`)
	if _, err := os.Stat(h.slurm.Rebooted); err == nil {
		t.Error("the node was rebooted under its job")
	}
	touch(t, end)
	succeeds(t, job)
	daemontest.Await(t, "Slurm reboots the node", func() bool {
		_, err := os.Stat(h.slurm.Rebooted)
		return err == nil
	})
	h.Stop()
	h.Must(h.Sim.Reboot())
	h.Start() // before slurmd is: the drain of then is about to be taken off
	h.slurm.RebootNode()
	h.AwaitLog(`"reason":"Rebooted"`)
	h.slurm.AwaitReason(h.ours("xid-79", 4))
	h.slurm.AwaitState("IDLE")
	h.awaitOver()
	if n := len(h.Status().History); n != 1 {
		t.Errorf("%d incidents are over", n)
	}
}
