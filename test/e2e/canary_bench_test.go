package e2e

import (
	"testing"
	"time"

	"github.com/gpuhealthd/gpuhealthd/internal/config"
	"github.com/gpuhealthd/gpuhealthd/test/daemontest"
)

// BenchmarkCanarySees tells how long after a replica's death, or its standing still, in
// the middle of an answer the canary has said so. It waits for one of its own requests:
// how long that takes is the period's, and not counted. A stream is frozen after 15 s.
func BenchmarkCanarySees(b *testing.B) {
	h := withCanary(b)
	h.Config.Serving.Canary.Frozen = config.Duration(15 * time.Second)
	flags := []string{"-token-rate", "2", "-prompt-rate", "1e6"}
	h.deploy("dies", []int{1}, flags...)
	h.deploy("stops", []int{2}, flags...)
	h.begins()
	var cut, frozen time.Duration
	done := 0
	for b.Loop() {
		cut += h.seen("dies", "cut", func(e *simEngine) { e.Kill() })
		frozen += h.seen("stops", "frozen", (*simEngine).freeze)
		for n, name := range []string{"dies", "stops"} {
			h.restarts(name, n+1, flags...)
		}
		done++
	}
	b.ReportMetric(float64(cut.Milliseconds())/float64(done), "ms-to-cut")
	b.ReportMetric(float64(frozen.Milliseconds())/float64(done), "ms-to-frozen")
}

// seen is how long after a fault in the middle of an answer the log says so.
func (h *servingHost) seen(name, outcome string, fault func(*simEngine)) time.Duration {
	h.t.Helper()
	e := h.engines[name]
	e.awaitAnswering()
	began := time.Now()
	fault(e)
	for {
		if r := h.changed(name, outcome); r.Time.After(began) {
			return r.Time.Sub(began)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// BenchmarkBackInService tells how long after the start of a container whose engine
// loads for 3 s /health answers, which is what a readiness probe goes by; and how long
// after it the gate is open: of one that is warm at once, and of one whose first three
// answers are slow. The canary asks every 12 s.
func BenchmarkBackInService(b *testing.B) {
	h := withCanary(b).gated()
	h.Config.Serving.Canary.Period = config.Duration(12 * time.Second)
	h.Config.Serving.Probation = config.LivesEvery
	flags := []string{"-token-rate", "60", "-prompt-rate", "20000", "-load", "3s"}
	h.deploy("warm", []int{1}, flags...)
	h.deploy("cold", []int{2}, flags...)
	h.begins()
	h.awaitGate("warm", "True", "")
	h.awaitGate("cold", "True", "")
	var health, warm, cold time.Duration
	done := 0
	for b.Loop() {
		began := time.Now()
		h.restarts("warm", 1, flags...)
		h.restarts("cold", 2, append(flags, "-cold", "3")...)
		h.engines["warm"].AwaitUp()
		health += time.Since(began)
		h.awaitGate("warm", "False", "probation")
		h.awaitGate("warm", "True", "")
		warm += time.Since(began)
		h.awaitGate("cold", "True", "")
		cold += time.Since(began)
		done++
	}
	b.ReportMetric(health.Seconds()/float64(done), "s-to-health")
	b.ReportMetric(warm.Seconds()/float64(done), "s-to-rotation")
	b.ReportMetric(cold.Seconds()/float64(done), "s-to-rotation-cold")
}

// BenchmarkCanaryCosts tells what asking eight replicas every 12 s costs the agent, as a
// share of a core, beside the same without: half a minute of each, once at rest.
func BenchmarkCanaryCosts(b *testing.B) {
	for _, c := range []struct {
		name   string
		canary bool
	}{{"without", false}, {"with", true}} {
		b.Run(c.name, func(b *testing.B) {
			h := withCanary(b)
			h.Config.Serving.Canary.Enabled, h.Config.Serving.Canary.Period = c.canary, config.Duration(12*time.Second)
			h.Config.Serving.Canary.PerMinute = 60
			h.Config.Serving.Period, h.Config.NVML.Period = config.Duration(5*time.Second), config.Duration(5*time.Second)
			for gpu := range 8 {
				h.deploy(string(rune('a'+gpu)), []int{gpu}, "-token-rate", "1000", "-prompt-rate", "1e6")
			}
			h.begins()
			daemontest.Await(b, "all are looked at", func() bool { s := h.Status().Serving; return s != nil && len(s.Replicas) == 8 })
			var used, took time.Duration
			for b.Loop() {
				began, before := time.Now(), h.CPU()
				time.Sleep(30 * time.Second)
				used, took = used+h.CPU()-before, took+time.Since(began)
			}
			b.ReportMetric(100*used.Seconds()/took.Seconds(), "%-of-a-core")
		})
	}
}
