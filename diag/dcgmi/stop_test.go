package dcgmi

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/gpuhealthd/gpuhealthd/diag"
)

// errWork is what calls a diagnosis off.
var errWork = errors.New("pod default/train was bound to the GPU")

// callOff gives a context that ends when the diagnosis is under way.
func callOff(t *testing.T) (context.Context, func(Progress)) {
	ctx, cancel := context.WithCancelCause(t.Context())
	return ctx, func(p Progress) {
		if p.Waiting == "" {
			cancel(errWork)
		}
	}
}

func TestArrivingWorkAborts(t *testing.T) {
	b := setUp(t)
	b.set("hang", "memory")
	ctx, told := callOff(t)
	o := New(config()).Run(ctx, Task{Level: 2, GPUs: b.uuids[:2]}, told)
	b.verdicts(o, diag.Aborted, diag.Aborted)
	if o.Report.Stopped.Why != errWork.Error() || o.Left != "" {
		t.Errorf("stopped %+v, left %q", o.Report.Stopped, o.Left)
	}
	b.nothingLeft()
}

func TestCalledOffBeforeItBegan(t *testing.T) {
	b := setUp(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errWork)
	b.verdicts(New(config()).Run(ctx, Task{Level: 2, GPUs: b.uuids[:1]}, quiet), diag.Aborted)
	b.nothingLeft()
}

func TestHungDiagnosisEndsAtItsDeadline(t *testing.T) {
	b := setUp(t)
	b.set("hang", "pcie")
	cfg := config()
	cfg.Level2 = 200 * time.Millisecond
	o := New(cfg).Run(t.Context(), Task{Level: 2, GPUs: b.uuids[:1]}, quiet)
	b.verdicts(o, diag.Doubtful)
	if !o.Report.Stopped.Late || o.Left != "" {
		t.Errorf("stopped %+v, left %q", o.Report.Stopped, o.Left)
	}
	b.nothingLeft()
}

// One that does not hear SIGTERM is killed, and the engine goes on: that is said.
func TestDeafDcgmiIsKilled(t *testing.T) {
	b := setUp(t)
	b.set("hang", "memory")
	b.set("deaf", "on")
	cfg := config()
	cfg.Level2, cfg.Grace = 200*time.Millisecond, 50*time.Millisecond
	o := New(cfg).Run(t.Context(), Task{Level: 2, GPUs: b.uuids[:1]}, quiet)
	b.verdicts(o, diag.Doubtful)
	if !strings.Contains(o.Left, "killed") {
		t.Errorf("left %q", o.Left)
	}
	b.noProcess()
	if busy, err := b.node.Diag().Running(); err != nil || !busy {
		t.Errorf("the simulated engine stopped by itself: %v", err)
	}
}

// With no engine to reach dcgmi runs one itself, with children of its own.
func TestEmbeddedEngine(t *testing.T) {
	b := setUp(t)
	b.must(b.node.DCGM().Kill())
	cfg := config()
	cfg.Host = ""
	o := New(cfg).Run(t.Context(), Task{Level: 2, GPUs: b.uuids[:1]}, quiet)
	b.verdicts(o, diag.Passed)
	if !strings.Contains(o.Report.Said, "unable to establish a connection") {
		t.Errorf("said %q", o.Report.Said)
	}
	b.noProcess()

	b.set("hang", "memory")
	b.set("deaf", "on")
	cfg.Level2, cfg.Grace, cfg.Every = time.Second, 50*time.Millisecond, 20*time.Millisecond
	most := 0
	b.verdicts(New(cfg).Run(t.Context(), Task{Level: 2, GPUs: b.uuids[:1]}, func(Progress) {
		pids, err := b.node.Holders(b.uuids[0])
		b.must(err)
		most = max(most, len(pids))
	}), diag.Doubtful)
	if most != 2 {
		t.Errorf("%d processes of it had the GPU open, want dcgmi and nvvs", most)
	}
	b.noProcess()
}

func TestEngineThatCannotBeReached(t *testing.T) {
	b := setUp(t)
	b.must(b.node.DCGM().Kill())
	o := New(config()).Run(t.Context(), Task{Level: 2, GPUs: b.uuids[:1]}, quiet)
	b.verdicts(o, diag.NotRun)
}

func TestBusyEngineIsWaitedFor(t *testing.T) {
	b := setUp(t)
	if begun, err := b.node.Diag().Begin(-1); err != nil || !begun {
		t.Fatal(err)
	}
	waited := false
	o := New(config()).Run(t.Context(), Task{Level: 2, GPUs: b.uuids[:1]}, func(p Progress) {
		if p.Waiting != "" && !waited {
			waited = true
			b.must(b.node.Diag().Stop())
		}
	})
	b.verdicts(o, diag.Passed)
	if !waited {
		t.Error("it told of no wait")
	}
}

// The engine is asked a last time at the limit, and the reason says how long that was.
func TestBusyEngineIsAskedUntilTheLimit(t *testing.T) {
	b := setUp(t)
	if begun, err := b.node.Diag().Begin(-1); err != nil || !begun {
		t.Fatal(err)
	}
	cfg := config()
	cfg.Patience, cfg.Retry = time.Second, time.Hour
	o := New(cfg).Run(t.Context(), Task{Level: 2, GPUs: b.uuids[:1]}, func(p Progress) {
		if p.Waiting != "" && p.AtMost == cfg.Patience {
			b.must(b.node.Diag().Stop())
		}
	})
	b.verdicts(o, diag.Passed)
	if begun, err := b.node.Diag().Begin(-1); err != nil || !begun {
		t.Fatal(err)
	}
	o = New(cfg).Run(t.Context(), Task{Level: 2, GPUs: b.uuids[:1]}, quiet)
	b.verdicts(o, diag.NotRun)
	if !strings.Contains(o.Table(), "waited for 1s: ") || !strings.Contains(o.Table(), "in use") {
		t.Error(o.Table())
	}
}

// One that writes without end is ended at once, whatever its deadline, and no more is
// kept of it than the limit.
func TestFlood(t *testing.T) {
	b := setUp(t)
	for name, command := range map[string][]string{
		"discovery": {"sh", "-c", "exec yes"},
		"diag":      {"sh", "-c", `if [ "$1" = discovery ]; then exec "$0" "$@"; else exec yes; fi`, program},
	} {
		cfg := config()
		cfg.Command = command
		r := New(cfg)
		o := r.Run(t.Context(), Task{Level: 2, GPUs: b.uuids[:1]}, quiet)
		b.verdicts(o, diag.NotRun)
		if !strings.Contains(o.Table(), "wrote more than 8 MiB") || o.Left != "" {
			t.Errorf("%s: %s", name, o.Table())
		}
	}
	p, err := start([]string{"yes"}, nil)
	b.must(err)
	p.wait(t.Context(), time.Minute)
	if len(p.out.kept) != maxOutput || p.flood() == nil {
		t.Errorf("%d bytes are kept of a flood", len(p.out.kept))
	}
}

func TestBusyEngineIsNoHardware(t *testing.T) {
	b := setUp(t)
	if begun, err := b.node.Diag().Begin(-1); err != nil || !begun {
		t.Fatal(err)
	}
	cfg := config()
	cfg.Patience = 0
	b.verdicts(New(cfg).Run(t.Context(), Task{Level: 2, GPUs: b.uuids[:1]}, quiet), diag.NotRun)

	ctx, cancel := context.WithCancelCause(t.Context())
	o := New(config()).Run(ctx, Task{Level: 2, GPUs: b.uuids[:1]}, func(p Progress) {
		if p.Waiting != "" {
			cancel(errWork)
		}
	})
	b.verdicts(o, diag.Aborted)
	b.noProcess()
}

// Somebody else's dcgmStopDiagnostic ends ours.
func TestStoppedBySomebodyElse(t *testing.T) {
	b := setUp(t)
	b.set("hang", "memory")
	cfg := config()
	cfg.Every = 10 * time.Millisecond
	o := New(cfg).Run(t.Context(), Task{Level: 2, GPUs: b.uuids[:1]}, func(Progress) {
		if busy, err := b.node.Diag().Running(); err == nil && busy {
			b.must(b.node.Diag().Stop())
		}
	})
	b.verdicts(o, diag.Aborted)
	b.nothingLeft()
}

func TestOneAtATime(t *testing.T) {
	b := setUp(t)
	b.set("hang", "memory")
	ctx, cancel := context.WithCancelCause(t.Context())
	r := New(config())
	r.Run(ctx, Task{Level: 2, GPUs: b.uuids[:1]}, func(Progress) {
		b.verdicts(r.Run(ctx, Task{Level: 2, GPUs: b.uuids[1:2]}, quiet), diag.NotRun)
		cancel(errWork)
	})
	b.nothingLeft()
}

// Beside a process that nothing ends none is started; when it is gone, one is.
func TestNothingBesideAStuckProcess(t *testing.T) {
	b := setUp(t)
	stuck, err := start([]string{program, "nvvs"}, nil)
	b.must(err)
	r := New(config())
	r.stuck = stuck
	o := r.Run(t.Context(), Task{Level: 2, GPUs: b.uuids[:1]}, quiet)
	b.verdicts(o, diag.NotRun)
	if !strings.Contains(o.Left, "stuck in the kernel") {
		t.Errorf("left %q", o.Left)
	}
	stuck.kill()
	<-stuck.done
	o = r.Run(t.Context(), Task{Level: 2, GPUs: b.uuids[:1]}, quiet)
	b.verdicts(o, diag.Passed)
	if o.Left != "" {
		t.Errorf("left %q", o.Left)
	}
}

// The agent's own death, at any moment, leaves no engine busy.
func TestDeadAgentLeavesNothing(t *testing.T) {
	b := setUp(t)
	b.set("hang", "memory")
	self, err := os.Executable()
	b.must(err)
	agent := exec.Command(self)
	agent.Env = append(os.Environ(), asAgent+"="+program, "UUIDS="+b.uuids[0])
	b.must(agent.Start())
	until(b, true)
	b.must(agent.Process.Kill())
	_ = agent.Wait() // killed
	until(b, false)
}

// until waits until the engine is busy, or free, for as long as the test may run.
func until(b bench, want bool) {
	b.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for range tick.C {
		busy, err := b.node.Diag().Running()
		b.must(err)
		if busy == want {
			return
		}
	}
}

// What the agent adds to a diagnosis: two processes, and the reading.
func BenchmarkOverhead(b *testing.B) {
	n, uuids, err := simulate(b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	b.Setenv("GPUHEALTHD_SIM", strings.TrimSuffix(n.KmsgPath(), "/kmsg"))
	r := New(config())
	for b.Loop() {
		if o := r.Run(b.Context(), Task{Level: 3, GPUs: uuids}, quiet); o.Findings[0].Verdict != diag.Passed {
			b.Fatal(o.Table())
		}
	}
}

// From the moment that work arrives to the end of the last process. The simulated
// engine stops at once; a real one took 4 s.
func BenchmarkAbort(b *testing.B) {
	n, uuids, err := simulate(b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	b.Setenv("GPUHEALTHD_SIM", strings.TrimSuffix(n.KmsgPath(), "/kmsg"))
	if err := n.Diag().Set("hang", "memory"); err != nil {
		b.Fatal(err)
	}
	cfg := config()
	cfg.Every = time.Millisecond
	r := New(cfg)
	var spent time.Duration
	for b.Loop() {
		ctx, cancel := context.WithCancelCause(b.Context())
		var arrived time.Time
		busyFor := 0
		r.Run(ctx, Task{Level: 2, GPUs: uuids}, func(Progress) {
			if busy, err := n.Diag().Running(); err != nil || !busy {
				return
			}
			if busyFor++; busyFor == 20 { // well under way
				arrived = time.Now()
				cancel(errWork)
			}
		})
		spent += time.Since(arrived)
	}
	b.ReportMetric(float64(spent.Milliseconds())/float64(b.N), "ms/abort")
}
