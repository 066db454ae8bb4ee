package bench

import (
	"context"

	"log/slog"
	"path/filepath"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/gpuhealthd/gpuhealthd/collector/kernlog"
	"github.com/gpuhealthd/gpuhealthd/internal/agent"
	"github.com/gpuhealthd/gpuhealthd/remediate"
	"github.com/gpuhealthd/gpuhealthd/remediate/logact"
	"github.com/gpuhealthd/gpuhealthd/sim/node"
	"github.com/gpuhealthd/gpuhealthd/test/daemontest"
)

// BenchmarkKernelLineToVerdict measures inside one process, from before the
// line is written to the simulated node's log until the agent logs its verdict.
func BenchmarkKernelLineToVerdict(b *testing.B) {
	for b.Loop() {
		var took []time.Duration
		for range lives {
			took = append(took, verdicts(b)...)
		}
		quantiles(b, "verdict", took)
		b.ReportMetric(0, "ns/op")
	}
}

// verdicts is one life of the agent.
func verdicts(b *testing.B) (took []time.Duration) {
	b.Helper()
	dir := b.TempDir()
	sim, err := node.New(filepath.Join(dir, "node"), "hgx-h100")
	if err != nil {
		b.Fatal(err)
	}
	judged := make(verdictLog, 1)
	log := slog.New(judged)
	a, err := agent.New(agent.Options{
		Log: log, Metrics: agent.NewMetrics(prometheus.NewRegistry()),
		Policy:    remediate.Policy{Mode: remediate.Contain, Probation: time.Minute},
		Kernel:    kernlog.Config{Path: sim.KmsgPath(), BootIDPath: sim.BootIDPath()},
		Actuator:  logact.New(log),
		StatePath: filepath.Join(dir, "state.db"),
	})
	if err != nil {
		b.Fatal(err)
	}
	ctx, cancel := context.WithCancel(b.Context())
	done := make(chan error, 1)
	go func() { done <- a.Run(ctx) }()
	daemontest.Await(b, "the log is heard", func() bool { return a.Status().KernelLog.Deaf == "" })
	for gpu := range perLife {
		began := time.Now()
		if err := sim.Kmsg(daemontest.XID(pci(gpu), daemontest.Uncontained)); err != nil {
			b.Fatal(err)
		}
		took = append(took, (<-judged).Sub(began))
		daemontest.Await(b, "the agent is at rest", func() bool {
			s := a.Status()
			return len(s.Incidents) == gpu+1 && s.Waiting == 0
		})
	}
	cancel()
	if err := <-done; err != nil {
		b.Fatal(err)
	}
	return took
}

// verdictLog is a log that sends the moment of each verdict.
type verdictLog chan time.Time

// Enabled makes it an slog.Handler, with the methods below.
func (v verdictLog) Enabled(context.Context, slog.Level) bool { return true }

func (v verdictLog) Handle(_ context.Context, r slog.Record) error {
	if r.Message == "verdict" {
		v <- time.Now()
	}
	return nil
}

func (v verdictLog) WithAttrs([]slog.Attr) slog.Handler { return v }

func (v verdictLog) WithGroup(string) slog.Handler { return v }
