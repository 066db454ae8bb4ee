package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gpuhealthd/gpuhealthd/fault"
	"github.com/gpuhealthd/gpuhealthd/internal/config"
	"github.com/gpuhealthd/gpuhealthd/remediate"
	"github.com/gpuhealthd/gpuhealthd/test/daemontest"
)

// impatient is a grace that a starved machine may exceed: for those tests alone
// in which the driver does not answer.
const impatient = config.Duration(2 * time.Second)

// judgesAllTheSame checks that the kernel log is heard and acted on while the
// driver is in trouble, and that the process counts as healthy.
func judgesAllTheSame(t *testing.T, d *daemontest.Daemon) {
	t.Helper()
	d.Say(daemontest.XID(d.GPU(2).PCI, daemontest.Uncontained))
	d.AwaitLog("NodeQuarantined", "xid-95")
	if code, body := d.Get("/healthz"); code != 200 {
		t.Errorf("/healthz: %d %s", code, body)
	}
}

func TestVersionMismatch(t *testing.T) {
	t.Parallel()
	d := programs.New(t)
	d.Must(d.Sim.Mismatch(true))
	d.Start()
	d.AwaitMetric(1, "incidents_open", `fault="driver-mismatch"`)
	d.AwaitNotReady("driver: ", "12.570.195.03")
	if strings.Contains(d.Log(), "would cordon") {
		t.Error("a version mismatch took the node out of service")
	}
	judgesAllTheSame(t, d)
	d.Must(d.Sim.Mismatch(false))
	awaitOver(t, d, fault.DriverMismatch, "")
	d.AwaitReady()
}

// TestAGPULostWithoutALine is missed at the second poll, and named as it was,
// even by a daemon that has never seen it answer. It stays lost until a boot
// brings it back.
func TestAGPULostWithoutALine(t *testing.T) {
	t.Parallel()
	d := programs.New(t)
	d.StartReady()
	dead := d.GPU(6)
	unseen := inject(t, d, func() { d.Must(d.Sim.Lose(dead.UUID)) })
	if v := awaitSeen(t, d, unseen+2, fault.GPULost, dead.UUID).Verdict; v.Action != fault.Reboot || v.Radius != fault.Node || !v.Hard {
		t.Errorf("verdict %+v", v)
	}
	d.AwaitLog("would cordon the node")

	d.Kill()
	d.StartReady()
	d.AwaitMetric(1, "gpus", `state="lost"`)
	d.Say(daemontest.XID(dead.PCI, daemontest.OffTheBus))
	d.AwaitLog("verdict", `"xid-79"`, dead.UUID)
	if text := d.StatusText(); !strings.Contains(text, dead.UUID) {
		t.Errorf("gpuhealthd status does not name it:\n%s", text)
	}
	awaitPolls(t, d, 2*d.Config.Contain.CleanPolls)
	if found, open := openIncident(d.Status(), fault.GPULost, dead.UUID); !open || found.State == remediate.Probation {
		t.Errorf("open %t, state %s", open, found.State)
	}

	d.Stop()
	d.Must(d.Sim.Reboot())
	d.StartReady()
	awaitOver(t, d, fault.GPULost, dead.UUID)
}

// TestAChildOfAnEarlierLife has not ended: no other is started beside it, and it
// is said which process that is and what it is in the way of.
func TestAChildOfAnEarlierLife(t *testing.T) {
	t.Parallel()
	d := programs.New(t)
	d.Config.NVML.Grace = impatient
	child := leftover(t, filepath.Dir(d.Config.State.Path))
	d.Start()
	d.AwaitNotReady("driver: ", fmt.Sprintf("process %d", child.Pid), "its GPUs cannot be reset")
	if family := d.Family(); len(family) != 1 {
		t.Errorf("children %v beside %d", family[1:], child.Pid)
	}
	judgesAllTheSame(t, d)
	must(t, child.Kill())
	d.AwaitReady()
}

// leftover is a process that holds a child's lock as one does that is stuck in
// the kernel, which no test can bring about.
func leftover(t *testing.T, lock string) *os.Process {
	t.Helper()
	folder, err := os.Open(lock)
	must(t, err)
	defer folder.Close()
	must(t, syscall.Flock(int(folder.Fd()), syscall.LOCK_EX|syscall.LOCK_NB))
	cmd := exec.CommandContext(t.Context(), "sleep", "infinity")
	cmd.ExtraFiles = []*os.File{folder}
	must(t, cmd.Start())
	go func() { _ = cmd.Wait() }() // it is killed
	return cmd.Process
}

// TestStuckInsideTheDriver: the kernel's trace names a module and no GPU. The
// node is held, serves on, and is in order once polls have come back.
func TestStuckInsideTheDriver(t *testing.T) {
	t.Parallel()
	d := programs.New(t)
	d.StartReady()
	d.Say("watchdog: BUG: soft lockup - CPU#17 stuck for 22s! [nvidia-smi:2024380]")
	d.Say("RIP: 0010:_nv012454rm+0x437/0x4b0 [nvidia]")
	d.AwaitLog("FaultDetected: driver-hung on node", "action hold")
	awaitOver(t, d, fault.DriverHung, "")
	if strings.Contains(d.Log(), "would cordon") {
		t.Error("a trace took the node out of service")
	}
}
