package e2e

import (
	"slices"
	"testing"
	"time"

	"github.com/gpuhealthd/gpuhealthd/fault"
	"github.com/gpuhealthd/gpuhealthd/internal/config"
	"github.com/gpuhealthd/gpuhealthd/remediate"
	"github.com/gpuhealthd/gpuhealthd/sim/node"
	"github.com/gpuhealthd/gpuhealthd/test/daemontest"
)

// polled are the faults that only asking shows: no line of the kernel log
// tells of them. Each is on a GPU of its own.
var polled = []struct {
	class  fault.Class
	action fault.Action
	begin  func(sim *node.Node, gpu string) error
	// end takes the cause away, and ends says whether the fault is over then.
	end  func(sim *node.Node, gpu string) error
	ends bool
}{
	{fault.ECCStorm, fault.Cordon, func(sim *node.Node, gpu string) error { return sim.Storm(gpu, 5000) },
		func(sim *node.Node, gpu string) error { return sim.Storm(gpu, 0) }, false}, // idle is not healed
	{fault.XID48, fault.Reset, func(sim *node.Node, gpu string) error { return sim.ECC(gpu, "dram", "uncorrected", 1) },
		(*node.Node).Reset, false}, // the driver never asked for the reset
	{fault.SRAMThreshold, fault.Replace, func(sim *node.Node, gpu string) error { return sim.Set(gpu, "ecc.sram.threshold", "1") },
		(*node.Node).Restore, false},
	{fault.RemapPending, fault.Record, func(sim *node.Node, gpu string) error { return sim.Remap(gpu, "pending") },
		(*node.Node).Reset, true},
	{fault.RemapFailed, fault.Reset, func(sim *node.Node, gpu string) error { return sim.Remap(gpu, "failed") },
		(*node.Node).Restore, false},
	{fault.SparesLow, fault.Record, func(sim *node.Node, gpu string) error { return sim.Set(gpu, "remap.banks.low", "3") },
		(*node.Node).Restore, false}, // a warning stands for a day
	{fault.ECCUnreadable, fault.Cordon, func(sim *node.Node, gpu string) error { return sim.Fail(gpu, "ecc") },
		(*node.Node).Restore, true},
	{fault.RecoveryAction, fault.Reboot, func(sim *node.Node, gpu string) error { return sim.Recovery(gpu, 2) },
		func(sim *node.Node, gpu string) error { return sim.Recovery(gpu, 0) }, true},
}

// TestWhatOnlyPollsSee lets each GPU have another fault, all at once: within two
// polls each is seen, on its own GPU and as nothing else, and it is over when it
// should be.
func TestWhatOnlyPollsSee(t *testing.T) {
	t.Parallel()
	d := programs.New(t)
	d.Config.NVML.SlowPeriod = config.Duration(time.Second) // spare rows are counted there
	d.StartReady()
	since := polls(d)
	for i, f := range polled {
		d.Must(f.begin(d.Sim, d.GPU(i).UUID))
	}
	for i, f := range polled {
		v := awaitSeen(t, d, since, f.class, d.GPU(i).UUID).Verdict
		if v.Action != f.action || len(v.GPUs) != 1 {
			t.Errorf("%s: action %s for %v, want %s", v.Class, v.Action, v.GPUs, f.action)
		}
	}
	if n := len(d.Status().Incidents); n != len(polled) {
		t.Errorf("%d incidents of %d faults: %+v", n, len(polled), d.Status().Incidents)
	}

	for i, f := range polled {
		d.Must(f.end(d.Sim, d.GPU(i).UUID))
	}
	for i, f := range polled {
		if f.ends {
			awaitOver(t, d, f.class, d.GPU(i).UUID)
		}
	}
	for i, f := range polled {
		found, open := openIncident(d, f.class, d.GPU(i).UUID)
		if still := open && found.State != remediate.Probation; still == f.ends {
			t.Errorf("%s: open %t, state %s", f.class, open, found.State)
		}
	}
}

// TestEveryGPUAtOnce: when all GPUs fail and the kernel has not said a word, it
// is this agent that has lost its devices. It says that it is blind, and blames
// nobody.
func TestEveryGPUAtOnce(t *testing.T) {
	t.Parallel()
	d := programs.New(t)
	d.StartReady()
	fail := func(code int) {
		for i := range 8 {
			d.Must(d.Sim.FailCall("*", d.GPU(i).UUID, code))
		}
	}
	child, since := d.Family()[1], polls(d)
	fail(999)
	awaitSeen(t, d, since, fault.AgentBlind, "")
	d.AwaitLog("would set the condition GPUHealthy=Unknown", "DriverNotAsked")
	d.AwaitNotReady("driver: every GPU failed at once")
	daemontest.Await(t, "there is another child", func() bool { f := d.Family(); return len(f) == 2 && f[1] != child })
	if i := slices.IndexFunc(d.Status().Incidents, func(i remediate.Incident) bool { return i.Verdict.Class != fault.AgentBlind || i.Verdict.Acts() }); i >= 0 {
		t.Errorf("incident %+v", d.Status().Incidents[i])
	}
	judgesAllTheSame(t, d)
	fail(0)
	awaitOver(t, d, fault.AgentBlind, "")
}

// TestAnXIDThatOnlyNVMLTells was in a gap of the kernel log. One that both tell
// is one fault.
func TestAnXIDThatOnlyNVMLTells(t *testing.T) {
	t.Parallel()
	d := programs.New(t)
	d.StartReady()
	silent, both := d.GPU(1), d.GPU(4)
	d.Must(d.Sim.XID(both.UUID, node.XID{Code: 95}))
	d.Say("NVRM: Xid (PCI:" + both.PCI + "): 95, pid=4712, name=VLLM::Worker, Uncontained: FBHUB. RST: Yes, D-RST: No")
	d.Must(d.Sim.XID(silent.UUID, node.XID{Code: 119}))
	v := awaitOpen(t, d, fault.XID119, silent.UUID).Verdict
	if v.Action != fault.Reset || !slices.Equal(v.Evidence, []string{"announced by NVML; the kernel log has no line for it"}) {
		t.Errorf("verdict %+v", v)
	}
	if v := awaitOpen(t, d, fault.XID95, both.UUID).Verdict; v.Count != 1 {
		t.Errorf("told by line and event, and counted %d times", v.Count)
	}
	if heard := d.Metric("kernel_events_total"); heard != 1 {
		t.Errorf("%v lines were heard", heard)
	}
}
