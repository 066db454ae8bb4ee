// Package slurm proves the actuator slurm and gpuhealthd check from outside: the
// daemon's real binary on a simulated GPU node, and a real Slurm.
package slurm

import (
	"flag"
	"os"
	"testing"
	"time"

	"github.com/gpuhealthd/gpuhealthd/internal/config"
	"github.com/gpuhealthd/gpuhealthd/test/daemontest"
	"github.com/gpuhealthd/gpuhealthd/test/process"
	"github.com/gpuhealthd/gpuhealthd/test/slurmtest"
)

var programs daemontest.Programs

func TestMain(m *testing.M) {
	flag.Parse()
	// The tests wait much and compute little, so that more of them than there are
	// processors run at once.
	if err := flag.Set("test.parallel", "12"); err != nil {
		panic(err)
	}
	defer programs.Remove()
	m.Run()
}

// host is a simulated GPU node that is a node of a Slurm.
type host struct {
	*daemontest.Daemon
	t     *testing.T
	slurm *slurmtest.Slurm
}

// onSlurm prepares a daemon on the node of a Slurm that runs; the daemon is not
// started.
func onSlurm(t *testing.T) *host {
	t.Helper()
	s := slurmtest.New(t)
	s.StartController()
	s.StartNode()
	h := &host{t: t, Daemon: programs.New(t), slurm: s}
	h.Env = append(h.Env, s.Env()...)
	h.Config.Actuator = config.ActuatorSlurm
	h.Config.Slurm.Node = slurmtest.Node
	h.Config.Slurm.Period = config.Duration(time.Second)
	return h
}

// sicken gives a GPU an uncontained memory error, which its driver wants reset.
func (h *host) sicken(gpu int) {
	h.t.Helper()
	sicken(h.Daemon, gpu)
}

func sicken(d *daemontest.Daemon, gpu int) {
	g := d.GPU(gpu)
	d.Must(d.Sim.Recovery(g.UUID, 1))
	d.Say(daemontest.XID(g.PCI, daemontest.Uncontained))
	d.Say(daemontest.XID(g.PCI, daemontest.ResetWanted))
}

// heal is what a reset of that GPU looks like.
func (h *host) heal(gpu int) {
	h.t.Helper()
	g := h.GPU(gpu)
	h.Must(h.Sim.Recovery(g.UUID, 0))
	h.Say(daemontest.XID(g.PCI, daemontest.NoneWanted))
}

// ours is the reason of a drain for a fault of a GPU.
func (h *host) ours(fault string, gpu int) string {
	return `gpuhealthd: ` + fault + ` ` + h.GPU(gpu).UUID + ` \([0-9a-f]{8}-\d+\)`
}

// awaitOver returns when no incident is open.
func (h *host) awaitOver() {
	h.t.Helper()
	daemontest.Await(h.t, "no incident is open", func() bool { return len(h.Status().Incidents) == 0 })
}

// awaitTrouble returns when the actuator's trouble says all of texts.
func (h *host) awaitTrouble(texts ...string) {
	h.t.Helper()
	h.AwaitLog(append(texts, "the Node does not say what it should")...)
}

// succeeds waits for a job's end.
func succeeds(t *testing.T, job *process.Process) {
	t.Helper()
	<-job.Done()
	if job.ExitCode() != 0 {
		t.Errorf("the job ended with exit code %d: %s", job.ExitCode(), job.Tail())
	}
}

func touch(t *testing.T, path string) {
	t.Helper()
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
}
