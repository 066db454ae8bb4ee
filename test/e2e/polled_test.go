package e2e

import (
	"slices"
	"testing"

	"github.com/gpuhealthd/gpuhealthd/fault"
	"github.com/gpuhealthd/gpuhealthd/remediate"
	"github.com/gpuhealthd/gpuhealthd/sim/node"
	"github.com/gpuhealthd/gpuhealthd/test/daemontest"
)

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
	child := d.Family()[1]
	unseen := inject(t, d, func() { fail(999) })
	awaitSeen(t, d, unseen+2, fault.AgentBlind, "")
	d.AwaitLog("would set the condition GPUHealthy=Unknown", "DriverNotAsked")
	d.AwaitNotReady("driver: every GPU failed at once")
	daemontest.Await(t, "there is another child", func() bool { f := d.Family(); return len(f) == 2 && f[1] != child })
	if i := slices.IndexFunc(d.Status().Incidents, func(i remediate.Incident) bool { return i.Verdict.Class != fault.AgentBlind || i.Verdict.Acts() }); i >= 0 {
		t.Errorf("incident %+v", d.Status().Incidents[i])
	}
	if cordoned(d) {
		t.Error("a blind agent took the node out of service")
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
