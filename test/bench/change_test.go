package bench

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/gpuhealthd/gpuhealthd/collector/nvml"
	"github.com/gpuhealthd/gpuhealthd/sim/node"
)

// arrival is a report of the NVML child, and when the parent had it.
type arrival struct {
	nvml.Report
	at time.Time
}

// way is how a change comes to be seen.
type way struct {
	name  string
	times int
	// pause is before the nth change.
	pause func(n int) time.Duration
	// change makes the nth change, and seen knows it in a report.
	change func(p *nvml.Probe, sim *node.Node, n int) error
	seen   func(r nvml.Report, n int) bool
}

// BenchmarkChangeToObservation measures from before the simulated driver changes
// what it says until the parent has the child's report of that, on a node with
// eight GPUs.
func BenchmarkChangeToObservation(b *testing.B) {
	const polledTimes = 20
	none := func(int) time.Duration { return 0 }
	action := func(n int) int { return n%7 + 1 }
	ask := func(_ *nvml.Probe, sim *node.Node, n int) error { return sim.Recovery("3", action(n)) }
	recovers := func(r nvml.Report, n int) bool {
		if r.Inventory == nil {
			return false
		}
		told := r.Inventory.GPUs[3].Recovery
		return told != nil && *told == action(n)
	}
	for _, w := range []way{
		// The changes meet all moments between two polls.
		{"polled", polledTimes, func(n int) time.Duration { return period * time.Duration(n) / polledTimes }, ask, recovers},
		// The kernel log tells of a loss, and a poll is asked for at once.
		{"asked", 200, none, func(p *nvml.Probe, sim *node.Node, n int) error {
			defer p.Poll()
			return ask(p, sim, n)
		}, recovers},
		// The driver announces it. Events within 100 ms are added up.
		{"xid", 50, func(int) time.Duration { return 200 * time.Millisecond }, func(_ *nvml.Probe, sim *node.Node, n int) error { return sim.XID("3", node.XID{Code: n + 1}) },
			func(r nvml.Report, n int) bool { return r.XID != nil && r.XID.Code == n+1 }},
	} {
		b.Run(w.name, func(b *testing.B) {
			for b.Loop() {
				quantiles(b, w.name, w.measure(b))
				b.ReportMetric(0, "ns/op")
			}
		})
	}
}

// measure makes the changes one after the other.
func (w way) measure(b *testing.B) (took []time.Duration) {
	b.Helper()
	probe, sim, reports := started(b)
	for n := range w.times {
		time.Sleep(w.pause(n))
		began := time.Now()
		if err := w.change(probe, sim, n); err != nil {
			b.Fatal(err)
		}
		r := <-reports
		for !w.seen(r.Report, n) {
			r = <-reports
		}
		took = append(took, r.at.Sub(began))
	}
	return took
}

// started starts an NVML child on a new node and returns behind its first poll.
func started(b *testing.B) (*nvml.Probe, *node.Node, <-chan arrival) {
	b.Helper()
	sim, err := node.New(b.TempDir(), "hgx-h100")
	if err != nil {
		b.Fatal(err)
	}
	probe := driver(b, sim)
	ctx, cancel := context.WithCancel(b.Context())
	reports, ended := make(chan arrival, 16), make(chan error, 1)
	go func() {
		ended <- probe.Run(ctx, func(r nvml.Report) {
			select {
			case reports <- arrival{r, time.Now()}:
			case <-ctx.Done():
			}
		})
	}()
	b.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			b.Error(err)
		}
	})
	for r := range reports {
		if r.Inventory != nil {
			return probe, sim, reports
		}
	}
	return nil, nil, nil // never: the channel stays open
}

// period is the default.
const period = 5 * time.Second

// driver is the NVML child at the default pace, on a simulated node.
func driver(b *testing.B, sim *node.Node) *nvml.Probe {
	b.Helper()
	pace := "probe nvml --period " + period.String() + " --slow-period 1m --deadline 3s"
	return nvml.New(nvml.Config{
		Command: append([]string{programs.Binary(b)}, strings.Fields(pace)...),
		Env:     sim.Env(programs.Library(b)), Period: period,
	})
}
