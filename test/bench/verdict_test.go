package bench

import (
	"context"

	"log/slog"
	"path/filepath"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/gpuhealthd/gpuhealthd/collector/kernlog"
	"github.com/gpuhealthd/gpuhealthd/fault"
	"github.com/gpuhealthd/gpuhealthd/internal/agent"
	"github.com/gpuhealthd/gpuhealthd/remediate"
	"github.com/gpuhealthd/gpuhealthd/remediate/logact"
	"github.com/gpuhealthd/gpuhealthd/sim/node"
	"github.com/gpuhealthd/gpuhealthd/test/daemontest"
)

// BenchmarkKernelLineToVerdict measures inside one process, from before the
// line is written to the simulated node's log until the agent logs its verdict.
func BenchmarkKernelLineToVerdict(b *testing.B) {
	everyVerdict(b, func(*testing.B, *node.Node) agent.Driver { return nil })
}

// BenchmarkKernelLineBesideAHang measures the same while a driver call on one
// GPU does not return.
func BenchmarkKernelLineBesideAHang(b *testing.B) {
	everyVerdict(b, func(b *testing.B, sim *node.Node) agent.Driver {
		const call, gpu = "nvmlDeviceGetFieldValues", "3"
		if err := sim.Hang(call, gpu, node.Forever); err != nil {
			b.Fatal(err)
		}
		return driver(b, sim)
	})
}

// everyVerdict measures several lives of the agent, each with a driver of its
// own, or none.
func everyVerdict(b *testing.B, driver func(*testing.B, *node.Node) agent.Driver) {
	for b.Loop() {
		var took []time.Duration
		for range lives {
			took = append(took, verdicts(b, driver)...)
		}
		quantiles(b, "verdict", took)
		b.ReportMetric(0, "ns/op")
	}
}

// verdicts is one life of the agent.
func verdicts(b *testing.B, driver func(*testing.B, *node.Node) agent.Driver) (took []time.Duration) {
	b.Helper()
	dir := b.TempDir()
	sim, err := node.New(filepath.Join(dir, "node"), "hgx-h100")
	if err != nil {
		b.Fatal(err)
	}
	asks := driver(b, sim)
	judged := make(verdictLog, 1)
	log := slog.New(judged)
	a, err := agent.New(agent.Options{
		Log: log, Metrics: agent.NewMetrics(prometheus.NewRegistry()),
		Policy:    remediate.Policy{Mode: remediate.Contain, Probation: time.Minute},
		Kernel:    kernlog.Config{Path: sim.KmsgPath(), BootIDPath: sim.BootIDPath()},
		Actuator:  logact.New(log),
		Driver:    asks,
		StatePath: filepath.Join(dir, "state.db"),
	})
	if err != nil {
		b.Fatal(err)
	}
	ctx, cancel := context.WithCancel(b.Context())
	done := make(chan error, 1)
	go func() { done <- a.Run(ctx) }()
	daemontest.Await(b, "the log is heard, and the driver hangs if it shall", func() bool {
		s := a.Status()
		return s.KernelLog.Deaf == "" && (asks == nil || len(s.Driver.Stuck) > 0)
	})
	for gpu := range perLife {
		began := time.Now()
		if err := sim.Kmsg(daemontest.XID(pci(gpu), daemontest.Uncontained)); err != nil {
			b.Fatal(err)
		}
		took = append(took, (<-judged).Sub(began))
		daemontest.Await(b, "the agent is at rest", func() bool {
			s := a.Status()
			return uncontained(s) == gpu+1 && s.Waiting == 0
		})
	}
	if err := sim.Restore("3"); err != nil { // so that the child can end
		b.Fatal(err)
	}
	cancel()
	if err := <-done; err != nil {
		b.Fatal(err)
	}
	return took
}

// uncontained counts the incidents that the lines have opened.
func uncontained(s agent.Status) (n int) {
	for _, i := range s.Incidents {
		if i.Verdict.Class == fault.XID95 {
			n++
		}
	}
	return n
}

// verdictLog is a log that sends the moment of each verdict about a line.
type verdictLog chan time.Time

// Enabled makes it an slog.Handler, with the methods below.
func (v verdictLog) Enabled(context.Context, slog.Level) bool { return true }

func (v verdictLog) Handle(_ context.Context, r slog.Record) error {
	r.Attrs(func(a slog.Attr) bool {
		ours := r.Message == "verdict" && a.Key == "fault" && a.Value.String() == string(fault.XID95)
		if ours {
			v <- time.Now()
		}
		return !ours
	})
	return nil
}

func (v verdictLog) WithAttrs([]slog.Attr) slog.Handler { return v }

func (v verdictLog) WithGroup(string) slog.Handler { return v }
