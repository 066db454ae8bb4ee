package agent

import (
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/gpuhealthd/gpuhealthd/collector/nvml"
)

// callCosts exports what asking the driver costs, as the probes report it: how
// often each call was made, and the time it took in all.
type callCosts struct {
	mu   sync.Mutex
	all  map[call]cost
	desc *prometheus.Desc
}

type call struct{ probe, name string }

type cost struct {
	count   uint64
	seconds float64
}

func newCallCosts() *callCosts {
	return &callCosts{all: map[call]cost{}, desc: prometheus.NewDesc("gpuhealthd_probe_call_seconds",
		"Driver calls by probe and call; field_N is a field by NVML's own measure.", []string{"probe", "call"}, nil)}
}

func (c *callCosts) add(probe, name string, count int, seconds float64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	k := call{probe, name}
	have := c.all[k]
	c.all[k] = cost{have.count + uint64(max(count, 0)), have.seconds + seconds}
}

// Describe implements prometheus.Collector.
func (c *callCosts) Describe(out chan<- *prometheus.Desc) { out <- c.desc }

// Collect implements prometheus.Collector.
func (c *callCosts) Collect(out chan<- prometheus.Metric) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for k, v := range c.all {
		out <- prometheus.MustNewConstSummary(c.desc, v.count, v.seconds, nil, k.probe, k.name)
	}
}

// asked takes in what one poll of NVML cost.
func (m *Metrics) asked(inv nvml.Inventory) {
	for _, c := range inv.Calls {
		m.calls.add("nvml", c.Name, c.Count, c.Seconds)
	}
	for _, f := range inv.Fields {
		m.calls.add("nvml", "field_"+f.Name, f.Count, f.Seconds)
	}
}
