package e2e

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/gpuhealthd/gpuhealthd/fault"
	"github.com/gpuhealthd/gpuhealthd/test/daemontest"
)

func TestWithoutADriverLibrary(t *testing.T) {
	t.Parallel()
	d := programs.New(t)
	d.Env = d.Sim.Env("")
	d.Config.NVML.Grace = impatient
	d.Start()
	d.AwaitNotReady("driver: ", "nvmlInit")
	d.AwaitLog("would set the condition GPUHealthy=Unknown", "DriverNotAsked")
	if up := d.Metric("driver_up"); up != 0 {
		t.Errorf("metric driver_up is %v", up)
	}
	judgesAllTheSame(t, d)
}

// TestALibraryWithoutNewerSymbols is asked for what it has.
func TestALibraryWithoutNewerSymbols(t *testing.T) {
	t.Parallel()
	d := programs.New(t)
	d.Env = d.Sim.Env(filepath.Join(programs.Library(t), "old"))
	d.StartReady()
	if listed := d.Metric("gpus", `state="listed"`); listed != 8 {
		t.Errorf("%v GPUs are listed", listed)
	}
	judgesAllTheSame(t, d)
}

// TestAFunctionIsMissing of a library that is new otherwise: what it tells is
// unknown, and the rest is asked for.
func TestAFunctionIsMissing(t *testing.T) {
	t.Parallel()
	d := programs.New(t)
	folder, err := d.Sim.DropSymbol(programs.Library(t), "nvmlDeviceGetRowRemapperHistogram")
	must(t, err)
	d.Env = d.Sim.Env(folder)
	d.Config.NVML.SlowPeriod = d.Config.NVML.Period
	d.StartReady()
	unseen := inject(t, d, func() {
		d.Must(d.Sim.Set(d.GPU(1).UUID, "remap.banks.low", "3")) // only that function tells
		d.Must(d.Sim.Remap(d.GPU(2).UUID, "failed"))
	})
	awaitSeen(t, d, unseen+2, fault.RemapFailed, d.GPU(2).UUID)
	if n := len(d.Status().Incidents); n != 1 {
		t.Errorf("incidents %+v", d.Status().Incidents)
	}
}

// TestALibraryThatEndsItsProcess takes the child with it, again and again. The
// reason is told, the kernel is heard, and the node serves on.
func TestALibraryThatEndsItsProcess(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		why  string
		// begin makes the library so, and gives what mends it.
		begin func(d *daemontest.Daemon) (end func() error)
	}{
		{"it lacks what every process needs", "the driver library lacks nvmlSystemGetDriverVersion", func(d *daemontest.Daemon) func() error {
			folder, err := d.Sim.DropSymbol(programs.Library(t), "nvmlSystemGetDriverVersion")
			must(t, err)
			d.Env = d.Sim.Env(folder)
			broken := filepath.Join(folder, "libnvidia-ml.so.1")
			return func() error {
				must(t, os.Remove(broken))
				return os.Symlink(filepath.Join(programs.Library(t), filepath.Base(broken)), broken)
			}
		}},
		{"it crashes", "the driver library ended the child: SIGSEGV", func(d *daemontest.Daemon) func() error {
			const call = "nvmlDeviceGetTemperature"
			gpu := d.GPU(4).UUID
			must(t, d.Sim.Crash(call, gpu))
			return func() error { return d.Sim.FailCall(call, gpu, 0) }
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			d := programs.New(t)
			d.Config.NVML.Grace = impatient
			mend := c.begin(d)
			d.Start()
			d.AwaitNotReady("driver: " + c.why)
			awaitOpen(t, d, fault.AgentBlind, "")
			d.AwaitMetric(2, "probe_restarts_total", `probe="nvml"`)
			judgesAllTheSame(t, d)
			if n := len(d.Status().Incidents); n != 2 {
				t.Errorf("incidents %+v", d.Status().Incidents)
			}
			d.Must(mend())
			d.AwaitReady()
			awaitOver(t, d, fault.AgentBlind, "")
		})
	}
}
