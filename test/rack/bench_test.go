package rack

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gpuhealthd/gpuhealthd/test/daemontest"
)

// racks is how many incidents are measured, each on a rack of its own.
const racks = 6

// BenchmarkOneGPUAnd71Victims measures from before the 149 is written to the guilty
// tray's log until each tray has the right verdict: the guilty one that it is, the
// 17 others who it is. All 18 are whole agents, in one process. The window of 3 s is
// in the figures. The requests are those of all 18 from the first line until all is
// said.
func BenchmarkOneGPUAnd71Victims(b *testing.B) {
	for b.Loop() {
		var took []time.Duration
		seen := map[string]int{}
		for i := range racks {
			r := newRack(b, fmt.Sprintf("bench-%d", i))
			took = append(took, r.incident(seen)...)
		}
		slices.Sort(took)
		at := func(q float64) float64 {
			return float64(took[min(len(took)-1, int(q*float64(len(took))))]) / float64(time.Millisecond)
		}
		b.ReportMetric(at(0.50), "verdict-p50-ms")
		b.ReportMetric(at(0.99), "verdict-p99-ms")
		per := func(requests ...string) (sum float64) {
			for _, what := range requests {
				sum += float64(seen[what])
			}
			return sum / racks
		}
		b.ReportMetric(per("list nodes", "watch nodes", "get nodes"), "reads/rack")
		b.ReportMetric(per("patch nodes", "patch nodes/status"), "node-writes/rack")
		b.ReportMetric(per("create events"), "events/rack")
		b.ReportMetric(0, "ns/op")
	}
}

// incident plays one on 18 whole agents, and adds what they ask of the API server.
func (r *rack) incident(seen map[string]int) (took []time.Duration) {
	r.t.Helper()
	var all []*tray
	for i := range trays {
		all = append(all, r.start(i))
	}
	healthy(all...)
	for _, t := range all {
		daemontest.Await(r.t, "nothing waits", func() bool { return t.agent.Status().Waiting == 0 })
		t.requests.take()
	}
	began := time.Now()
	all[0].hear(2, linkDown)
	for _, t := range all {
		for gpu := range 4 {
			if t != all[0] || gpu != 2 {
				t.hear(gpu, echo)
			}
		}
		t.hear(0, drain)
	}
	for i, t := range all {
		action, reason := "hold", "the root is on "+all[0].node
		if i == 0 {
			action, reason = "reset", "the GPU's own link failed"
		}
		daemontest.Await(r.t, t.node+" knows", func() bool { return !t.verdicts.first(action, reason).IsZero() })
		took = append(took, t.verdicts.first(action, reason).Sub(began))
	}
	all[0].await("cordoned", cordoned)
	for _, t := range all {
		daemontest.Await(r.t, "nothing waits", func() bool { return t.agent.Status().Waiting == 0 })
		for what, n := range t.requests.take() {
			seen[what] += n
		}
		t.stop()
	}
	return took
}

// verdictLog keeps the verdicts that an agent logs, and when.
type verdictLog struct {
	mu   sync.Mutex
	said []saidAt
}

type saidAt struct {
	at             time.Time
	action, reason string
}

// first is when a verdict was first logged with this action and a text in its
// reason; zero for never.
func (v *verdictLog) first(action, text string) time.Time {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, s := range v.said {
		if s.action == action && strings.Contains(s.reason, text) {
			return s.at
		}
	}
	return time.Time{}
}

// Enabled makes it an slog.Handler, with the methods below.
func (v *verdictLog) Enabled(context.Context, slog.Level) bool { return true }

func (v *verdictLog) Handle(_ context.Context, r slog.Record) error {
	if r.Message != "verdict" {
		return nil
	}
	s := saidAt{at: time.Now()}
	r.Attrs(func(a slog.Attr) bool {
		switch a.Key {
		case "action":
			s.action = a.Value.String()
		case "reason":
			s.reason = a.Value.String()
		}
		return true
	})
	v.mu.Lock()
	defer v.mu.Unlock()
	v.said = append(v.said, s)
	return nil
}

func (v *verdictLog) WithAttrs([]slog.Attr) slog.Handler { return v }

func (v *verdictLog) WithGroup(string) slog.Handler { return v }
