package agent

import (
	"strconv"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/gpuhealthd/gpuhealthd/nvlink"
)

// quietBER is a bit error rate that is none.
const quietBER = 1e-18

// linkMetrics exports the NVLinks, whole at each scrape. Per GPU there are counts
// of links by state and the fabric; a link has series of its own only where it
// has counted something, so that a healthy node of 144 links has none.
type linkMetrics struct {
	reports                                        func() []nvlink.GPUReport
	links, fabric, recoveries, ber, packets, depth *prometheus.Desc
}

func newLinkMetrics(reports func() []nvlink.GPUReport) *linkMetrics {
	d := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc("gpuhealthd_"+name, help, labels, nil)
	}
	return &linkMetrics{reports: reports,
		links:      d("nvlinks", "NVLinks of a GPU by state: active, sleep, inactive, disabled, unknown.", "gpu", "state"),
		fabric:     d("fabric_state", "1 for how far the GPU is registered at its NVLink fabric, 0 for the others.", "gpu", "state"),
		recoveries: d("nvlink_recoveries_total", "How often a link was trained again, by result: all, failed. Only links with any.", "gpu", "link", "result"),
		ber:        d("nvlink_bit_error_ratio", "Bit error rate of a link behind the error correction. Only links with one above 1e-18.", "gpu", "link"),
		packets:    d("nvlink_packet_errors_total", "Packets of a link that went wrong in any way. Only links with any.", "gpu", "link"),
		depth:      d("nvlink_fec_depth", "The most symbols that a link had to correct in one code word, of 15. Only links with more than 3.", "gpu", "link"),
	}
}

// shallow is how many corrected symbols in a code word are every link's.
const shallow = 3

// Describe implements prometheus.Collector.
func (m *linkMetrics) Describe(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{m.links, m.fabric, m.recoveries, m.ber, m.packets, m.depth} {
		out <- d
	}
}

// Collect implements prometheus.Collector.
func (m *linkMetrics) Collect(out chan<- prometheus.Metric) {
	tell := func(d *prometheus.Desc, kind prometheus.ValueType, value float64, labels ...string) {
		out <- prometheus.MustNewConstMetric(d, kind, value, labels...)
	}
	for _, r := range m.reports() {
		states := map[nvlink.State]int{}
		for _, l := range r.Reading.Links {
			states[l.State]++
			m.link(r.UUID, l, tell)
		}
		for s := nvlink.StateUnknown; s <= nvlink.Disabled && len(r.Reading.Links) > 0; s++ {
			tell(m.links, prometheus.GaugeValue, float64(states[s]), r.UUID, s.String())
		}
		for s := nvlink.FabricNotSupported; s <= nvlink.FabricCompleted && r.Reading.Fabric != nil; s++ {
			tell(m.fabric, prometheus.GaugeValue, number(r.Reading.Fabric.State == s), r.UUID, s.String())
		}
	}
}

// link exports what one link has counted.
func (m *linkMetrics) link(gpu string, l nvlink.Link, tell func(*prometheus.Desc, prometheus.ValueType, float64, ...string)) {
	index := strconv.Itoa(l.Index)
	if n := l.Retrained(); n > 0 {
		tell(m.recoveries, prometheus.CounterValue, float64(n), gpu, index, "all")
	}
	if n := l.RecoveryFailed; n != nil && *n > 0 {
		tell(m.recoveries, prometheus.CounterValue, float64(*n), gpu, index, "failed")
	}
	if l.EffectiveBER != nil && *l.EffectiveBER > quietBER {
		tell(m.ber, prometheus.GaugeValue, *l.EffectiveBER, gpu, index)
	}
	if n, _ := l.Packets.Errors(); n > 0 {
		tell(m.packets, prometheus.CounterValue, float64(n), gpu, index)
	}
	if depth := l.FECDepth(); depth > shallow {
		tell(m.depth, prometheus.GaugeValue, float64(depth), gpu, index)
	}
}
