package agent

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/gpuhealthd/gpuhealthd/collector/kernlog"
	"github.com/gpuhealthd/gpuhealthd/nvlink"
)

// kernelLog exports what the kernel log says of itself, at the scrape: as a
// whole, and by source.
type kernelLog struct {
	hearing       func() kernlog.Hearing
	whole, source []kernelMetric
}

// kernelMetric is one number of a Hearing, or of a State where it is a source's.
type kernelMetric struct {
	desc  *prometheus.Desc
	kind  prometheus.ValueType
	value func(kernlog.Hearing) float64
}

// Register exports the agent's state and its reader's.
func (a *Agent) Register(reg prometheus.Registerer) {
	reg.MustRegister(newState(a.Status), newGuards(a.Status), newKernelLog(a.hearing),
		newLinkMetrics(func() []nvlink.GPUReport { return *a.core.links.Load() }),
		newServingMetrics(func() *ServingStatus { return a.core.shown.Load().Serving }),
		newWorkerMetrics(func() []WorkerStatus { return a.core.shown.Load().Workers }))
}

func newKernelLog(hearing func() kernlog.Hearing) *kernelLog {
	k := &kernelLog{hearing: hearing}
	whole := func(name, help string, kind prometheus.ValueType, value func(kernlog.Hearing) float64) {
		k.whole = append(k.whole, kernelMetric{prometheus.NewDesc("gpuhealthd_kernel_log_"+name, help, nil, nil), kind, value})
	}
	source := func(name, help string, kind prometheus.ValueType, value func(kernlog.State) float64) {
		k.source = append(k.source, kernelMetric{prometheus.NewDesc("gpuhealthd_kernel_source_"+name, help, []string{"source"}, nil), kind,
			func(h kernlog.Hearing) float64 { return value(h.State) }})
	}
	whole("hearing", "1 while the kernel log is heard.", prometheus.GaugeValue, func(h kernlog.Hearing) float64 { return number(h.Deaf == "") })
	whole("records_total", "Records read.", prometheus.CounterValue, func(h kernlog.Hearing) float64 { return float64(h.Read) })
	whole("lost_records_total", "Records that no source had.", prometheus.CounterValue, func(h kernlog.Hearing) float64 { return float64(h.Lost) })
	whole("filled_records_total", "Lost records that the journal had.", prometheus.CounterValue, func(h kernlog.Hearing) float64 { return float64(h.Filled) })
	whole("duplicate_records_total", "Records that another source had delivered.", prometheus.CounterValue, func(h kernlog.Hearing) float64 { return float64(h.Duplicates) })
	whole("foreign_records_total", "Records left out because user space wrote them.", prometheus.CounterValue, func(h kernlog.Hearing) float64 { return float64(h.Foreign) })
	whole("garbled_records_total", "Records without a readable head.", prometheus.CounterValue, func(h kernlog.Hearing) float64 { return float64(h.Garbled) })
	whole("overruns_total", "Times that the kernel overwrote records before they were read.", prometheus.CounterValue, func(h kernlog.Hearing) float64 { return float64(h.Overruns) })
	whole("reopens_total", "Openings behind the first.", prometheus.CounterValue, func(h kernlog.Hearing) float64 { return float64(h.Reopened) })
	whole("last_record_timestamp_seconds", "When the last record arrived, in Unix time.", prometheus.GaugeValue, func(h kernlog.Hearing) float64 { return seconds(h.LastArrival) })
	whole("self_test_failures_total", "Times that the log had a record which was not read, and was opened anew.", prometheus.CounterValue, func(h kernlog.Hearing) float64 { return float64(h.Failed) })

	source("hearing", "1 while the source is heard.", prometheus.GaugeValue, func(s kernlog.State) float64 { return number(s.Deaf == "") })
	source("records_total", "Records read from the source.", prometheus.CounterValue, func(s kernlog.State) float64 { return float64(s.Read) })
	source("lost_records_total", "Records that the source itself did not give.", prometheus.CounterValue, func(s kernlog.State) float64 { return float64(s.Lost) })
	source("reopens_total", "Openings of the source behind the first.", prometheus.CounterValue, func(s kernlog.State) float64 { return float64(s.Reopened) })
	source("last_record_timestamp_seconds", "When the source's last record arrived, in Unix time.", prometheus.GaugeValue, func(s kernlog.State) float64 { return seconds(s.LastArrival) })
	return k
}

// Describe implements prometheus.Collector.
func (k *kernelLog) Describe(out chan<- *prometheus.Desc) {
	for _, m := range append(k.whole[:len(k.whole):len(k.whole)], k.source...) {
		out <- m.desc
	}
}

// Collect implements prometheus.Collector.
func (k *kernelLog) Collect(out chan<- prometheus.Metric) {
	h := k.hearing()
	for _, m := range k.whole {
		out <- prometheus.MustNewConstMetric(m.desc, m.kind, m.value(h))
	}
	for name, state := range map[string]*kernlog.State{"kmsg": h.Kmsg, "journal": h.Journal} {
		if state == nil {
			continue
		}
		for _, m := range k.source {
			out <- prometheus.MustNewConstMetric(m.desc, m.kind, m.value(kernlog.Hearing{State: *state}), name)
		}
	}
}

// seconds is a moment in Unix time, 0 where there is none.
func seconds(t time.Time) float64 {
	if t.IsZero() {
		return 0
	}
	return float64(t.UnixMilli()) / 1000
}
