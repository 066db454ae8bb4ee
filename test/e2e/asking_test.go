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

// quietFault is a fault of one GPU of which no line of the kernel log tells: only
// asking the driver shows it.
type quietFault struct {
	name    string
	class   fault.Class
	action  fault.Action
	cordons bool
	begin   func(sim *node.Node, gpu string) error
	// end takes the cause away, and over says whether the fault is over then.
	// What is not stands for a day, or until a person or a boot ends it.
	end  func(sim *node.Node, gpu string) error
	over bool
}

// change is what may be done to a GPU.
type change = func(sim *node.Node, gpu string) error

func set(value, to string) change {
	return func(sim *node.Node, gpu string) error { return sim.Set(gpu, value, to) }
}

func storm(perSecond float64) change {
	return func(sim *node.Node, gpu string) error { return sim.Storm(gpu, perSecond) }
}

func eccErrors(memory, kind string, n int) change {
	return func(sim *node.Node, gpu string) error { return sim.ECC(gpu, memory, kind, n) }
}

func remap(state string) change {
	return func(sim *node.Node, gpu string) error { return sim.Remap(gpu, state) }
}

func recovery(action int) change {
	return func(sim *node.Node, gpu string) error { return sim.Recovery(gpu, action) }
}

func failing(call string, code int) change {
	return func(sim *node.Node, gpu string) error { return sim.FailCall(call, gpu, code) }
}

func hanging(call string, d time.Duration) change {
	return func(sim *node.Node, gpu string) error { return sim.Hang(call, gpu, d) }
}

// busy lets a GPU work over a link of that generation and width.
func busy(gen, width int) change {
	return func(sim *node.Node, gpu string) error {
		if err := sim.PCIe(gpu, gen, width); err != nil {
			return err
		}
		return sim.Work(gpu, 95)
	}
}

var (
	restore = (*node.Node).Restore
	reset   = (*node.Node).Reset
)

// Each list is one node's: a GPU for each fault, all of them at once.
var (
	ofMemory = []quietFault{
		{"a storm", fault.ECCStorm, fault.Cordon, true, storm(5000), storm(0), false}, // idle is not healed
		{"many at once", fault.ECCStorm, fault.Cordon, true, eccErrors("dram", "corrected", 250), reset, false},
		{"a double bit in DRAM", fault.XID48, fault.Reset, true, eccErrors("dram", "uncorrected", 1), reset, true},
		{"a double bit in SRAM", fault.XID48, fault.Reset, true, eccErrors("sram", "uncorrected", 1), reset, true},
		{"the SRAM threshold", fault.SRAMThreshold, fault.Replace, true, set("ecc.sram.threshold", "1"), restore, false},
		{"a remap pending", fault.RemapPending, fault.Record, false, remap("pending"), reset, true},
		{"a remap failed", fault.RemapFailed, fault.Reset, true, remap("failed"), restore, false},
		{"few spare rows", fault.SparesLow, fault.Record, false, set("remap.banks.low", "3"), restore, false}, // a warning stands for a day
	}
	ofDriver = []quietFault{
		{"Unknown Error on ECC", fault.ECCUnreadable, fault.Cordon, true, func(sim *node.Node, gpu string) error { return sim.Fail(gpu, "ecc") }, restore, true},
		{"every call fails on one", fault.GPUFailed, fault.Cordon, true, failing("*", 999), failing("*", 0), true},
		{"a call hangs on one", fault.DriverHung, fault.Reboot, true, hanging("nvmlDeviceGetTemperature", node.Forever), hanging("nvmlDeviceGetTemperature", 0), true},
		{"lost, and back", fault.GPULost, fault.Reboot, true, (*node.Node).Lose, restore, true},
	}
	ofRecovery = []quietFault{
		{"reset", fault.RecoveryAction, fault.Reset, true, recovery(1), recovery(0), true},
		{"reboot", fault.RecoveryAction, fault.Reboot, true, recovery(2), recovery(0), true},
		{"drain P2P", fault.RecoveryAction, fault.Cordon, true, recovery(3), recovery(0), true},
		{"drain and reset", fault.RecoveryAction, fault.Reset, true, recovery(4), recovery(0), true},
		{"recover the IMEX domain", fault.RecoveryAction, fault.Hold, false, recovery(5), recovery(0), true},
		{"bus reset", fault.RecoveryAction, fault.Reset, true, recovery(6), recovery(0), true},
		{"system reboot", fault.RecoveryAction, fault.Reboot, true, recovery(7), recovery(0), true},
	}
	ofSlowdown = []quietFault{
		{"heat, says the driver", fault.Thermal, fault.Record, false, set("clocks.reasons", "32"), set("clocks.reasons", "0"), true},
		{"heat, says the board", fault.Thermal, fault.Record, false, set("clocks.reasons", "64"), set("clocks.reasons", "0"), true},
		{"the power brake", fault.PowerBrake, fault.Record, false, set("clocks.reasons", "128"), set("clocks.reasons", "0"), true},
		{"few lanes while busy", fault.PCIeDegraded, fault.Record, false, busy(5, 8), busy(5, 16), true},
		{"a slow link while busy", fault.PCIeDegraded, fault.Record, false, busy(3, 16), busy(5, 16), true},
	}
)

// TestWhatOnlyAskingShows lets GPUs of a node have a fault each, all at once:
// within the polls that it may take each is seen, on its own GPU and as nothing
// else, and it is over when its cause is, or stands as it should.
func TestWhatOnlyAskingShows(t *testing.T) {
	t.Parallel()
	// Two polls, but for what must have lasted for a window of five: it may begin
	// in the midst of one that it has not filled.
	const twoPolls, twoWindows = 2, 10
	for _, c := range []struct {
		name   string
		within int
		faults []quietFault
	}{
		{"memory", twoPolls, ofMemory},
		{"driver", twoPolls, ofDriver},
		{"recovery action", twoPolls, ofRecovery},
		{"slowdown", twoWindows, ofSlowdown},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			d := programs.New(t)
			d.Config.NVML.SlowPeriod = config.Duration(time.Second) // spare rows are counted there
			d.Config.NVML.Slowdown = 5 * d.Config.NVML.Period
			d.StartReady()
			comeAndGo(t, d, c.within, c.faults)
		})
	}
}

// comeAndGo lets the faults begin, and then their causes end.
func comeAndGo(t *testing.T, d *daemontest.Daemon, within int, faults []quietFault) {
	t.Helper()
	each := func(do func(f quietFault, uuid string)) {
		for i, f := range faults {
			do(f, d.GPU(i).UUID)
		}
	}
	unseen := inject(t, d, func() { each(func(f quietFault, uuid string) { d.Must(f.begin(d.Sim, uuid)) }) })
	each(func(f quietFault, uuid string) {
		if v := awaitSeen(t, d, unseen+within, f.class, uuid).Verdict; v.Action != f.action || len(v.GPUs) != 1 {
			t.Errorf("%s: %s, action %s for %v, want %s", f.name, v.Class, v.Action, v.GPUs, f.action)
		}
	})
	awaitPolls(t, d, 3) // a counter that begins anew as it is first seen shows no reset
	each(func(f quietFault, uuid string) {
		if found, _ := openIncident(d.Status(), f.class, uuid); found.Contained != f.cordons {
			t.Errorf("%s: contained %t, want %t", f.name, found.Contained, f.cordons)
		}
	})
	if n := len(d.Status().Incidents); n != len(faults) {
		t.Errorf("%d incidents of %d faults: %+v", n, len(faults), d.Status().Incidents)
	}
	if cordons := slices.ContainsFunc(faults, func(f quietFault) bool { return f.cordons }); cordons != cordoned(d) {
		t.Errorf("cordoned %t, want %t", !cordons, cordons)
	}

	each(func(f quietFault, uuid string) { d.Must(f.end(d.Sim, uuid)) })
	each(func(f quietFault, uuid string) {
		if f.over {
			awaitOver(t, d, f.class, uuid)
		}
	})
	awaitPolls(t, d, 2*d.Config.Contain.CleanPolls)
	each(func(f quietFault, uuid string) {
		found, open := openIncident(d.Status(), f.class, uuid)
		if still := open && found.State != remediate.Probation; still == f.over {
			t.Errorf("%s: open %t, state %s", f.name, open, found.State)
		}
	})
}
