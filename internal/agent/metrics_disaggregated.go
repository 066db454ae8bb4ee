package agent

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/gpuhealthd/gpuhealthd/serving"
)

// workerMetrics exports the node's workers of disaggregated serving, whole at each
// scrape.
type workerMetrics struct {
	status                      func() []WorkerStatus
	peers, stale, seconds, part *prometheus.Desc
}

func newWorkerMetrics(status func() []WorkerStatus) *workerMetrics {
	d := func(name, help string) *prometheus.Desc {
		return prometheus.NewDesc("gpuhealthd_serving_"+name, help, []string{"replica"}, nil)
	}
	return &workerMetrics{status: status,
		peers:   d("peers", "Workers of the other role that a worker of disaggregated serving works with. Only where they are known."),
		stale:   d("stale_peer", "1 for a decode worker that may serve from a prefill worker which is gone, 0 for the others."),
		seconds: d("stranded_seconds", "For how long a prefill worker still keeps KV cache for decode workers that are gone."),
		part:    d("stranded_ratio", "How much of a prefill worker's KV cache that is at most, from 0 to 1."),
	}
}

// Describe implements prometheus.Collector.
func (m *workerMetrics) Describe(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{m.peers, m.stale, m.seconds, m.part} {
		out <- d
	}
}

// Collect implements prometheus.Collector.
func (m *workerMetrics) Collect(out chan<- prometheus.Metric) {
	gauge := func(d *prometheus.Desc, value float64, name string) {
		out <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, name)
	}
	for _, w := range m.status() {
		if w.Peers != nil {
			gauge(m.peers, float64(*w.Peers), w.Name)
		}
		if w.Role == serving.Decode {
			gauge(m.stale, number(w.Stale != nil), w.Name)
			continue
		}
		left, share := 0.0, 0.0
		if s := w.Stranded; s != nil {
			left, share = max(0, time.Until(s.Until).Seconds()), s.Share
		}
		gauge(m.seconds, left, w.Name)
		gauge(m.part, share, w.Name)
	}
}
