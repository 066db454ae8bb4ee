package e2e

import (
	"net/http"
	"testing"
	"time"

	"github.com/gpuhealthd/gpuhealthd/fault"
	"github.com/gpuhealthd/gpuhealthd/sim/node"
	"github.com/gpuhealthd/gpuhealthd/test/daemontest"
)

// TestACallHangsForAMinute on one GPU. The other GPUs are polled and the kernel's
// lines are judged all that time, /healthz stays green, and /readyz says what
// does not return. How soon lines are judged is BenchmarkKernelLineBesideAHang.
func TestACallHangsForAMinute(t *testing.T) {
	t.Parallel()
	const call = "nvmlDeviceGetFieldValues"
	d := programs.New(t)
	d.StartReady()
	stuck, other := d.GPU(3), d.GPU(5)
	began := time.Now()
	unseen := inject(t, d, func() { d.Must(d.Sim.Hang(call, stuck.UUID, node.Forever)) })
	awaitSeen(t, d, unseen+2, fault.DriverHung, stuck.UUID)
	d.AwaitNotReady("driver: "+call, stuck.UUID)

	lines := 0
	for ; time.Since(began) < time.Minute; lines++ {
		judged := judgedLines(d)
		d.Say(daemontest.XID(d.GPU(2).PCI, daemontest.Uncontained))
		daemontest.Await(t, "the line is judged", func() bool { return judgedLines(d) > judged })
		standsStill(t, d, call+" on "+stuck.UUID)
		awaitPolls(t, d, 1)
	}
	if v := awaitOpen(t, d, fault.XID95, d.GPU(2).UUID).Verdict; v.Count != uint64(lines) {
		t.Errorf("%d lines were judged as %d", lines, v.Count)
	}
	t.Logf("%d lines beside the hang, %.0f of them judged within 41 ms", lines, d.Metric("kernel_line_judged_seconds_bucket", `le="0.04096"`))
	unseen = inject(t, d, func() { d.Must(d.Sim.Recovery(other.UUID, 1)) })
	awaitSeen(t, d, unseen+2, fault.RecoveryAction, other.UUID)

	d.Must(d.Sim.Hang(call, stuck.UUID, 0))
	d.AwaitReady()
	awaitOver(t, d, fault.DriverHung, stuck.UUID)
}

// judgedLines counts the batches of lines that were judged: one line each where
// each is waited for.
func judgedLines(d *daemontest.Daemon) float64 { return d.Metric("kernel_line_judged_seconds_count") }

// standsStill checks that the call still hangs, that /readyz says so, and that
// the process counts as healthy all the same.
func standsStill(t *testing.T, d *daemontest.Daemon, call string) {
	t.Helper()
	if calls := d.Status().Driver.Stuck; len(calls) != 1 || calls[0] != call {
		t.Fatalf("stuck are %q, want %q", calls, call)
	}
	if d.Ready() {
		t.Fatal("/readyz is green")
	}
	if code, body := d.Get("/healthz"); code != http.StatusOK {
		t.Fatalf("/healthz: %d %s", code, body)
	}
}

func TestADriverThatNeverAnswers(t *testing.T) {
	t.Parallel()
	d := programs.New(t)
	d.Must(d.Sim.Hang("nvmlInit_v2", "", node.Forever))
	d.Config.NVML.Grace = impatient
	d.Start()
	d.AwaitNotReady("driver: nvmlInit")
	d.AwaitMetric(1, "verdicts_total", `fault="driver-hung"`)
	judgesAllTheSame(t, d)
	d.Must(d.Sim.Hang("nvmlInit_v2", "", 0))
	d.AwaitReady()
	awaitOver(t, d, fault.DriverHung, "")
}
