package agent

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/gpuhealthd/gpuhealthd/collector/kernlog"
)

// kernelLog exports what the reader says of itself, at the scrape.
type kernelLog struct {
	state func() kernlog.State
	descs [8]*prometheus.Desc
}

// Register exports the agent's state and its reader's.
func (a *Agent) Register(reg prometheus.Registerer) {
	reg.MustRegister(newState(a.Status), newKernelLog(a.hearing))
}

func newKernelLog(state func() kernlog.State) *kernelLog {
	d := func(name, help string) *prometheus.Desc {
		return prometheus.NewDesc("gpuhealthd_kernel_log_"+name, help, nil, nil)
	}
	return &kernelLog{state: state, descs: [8]*prometheus.Desc{
		d("hearing", "1 while the kernel log is heard."),
		d("records_total", "Records read."),
		d("lost_records_total", "Records that the log had and the reader did not get."),
		d("foreign_records_total", "Records left out because user space wrote them."),
		d("garbled_records_total", "Records without a readable head."),
		d("overruns_total", "Times that the kernel overwrote records before they were read."),
		d("reopens_total", "Openings behind the first."),
		d("last_record_timestamp_seconds", "When the last record arrived, in Unix time."),
	}}
}

// Describe implements prometheus.Collector.
func (k *kernelLog) Describe(out chan<- *prometheus.Desc) {
	for _, d := range k.descs {
		out <- d
	}
}

// Collect implements prometheus.Collector.
func (k *kernelLog) Collect(out chan<- prometheus.Metric) {
	s := k.state()
	last := 0.0
	if !s.LastArrival.IsZero() {
		last = float64(s.LastArrival.UnixMilli()) / 1000
	}
	for i, v := range []float64{number(s.Deaf == ""), float64(s.Read), float64(s.Lost), float64(s.Foreign),
		float64(s.Garbled), float64(s.Overruns), float64(s.Reopened), last} {
		kind := prometheus.CounterValue
		if i == 0 || i == 7 {
			kind = prometheus.GaugeValue
		}
		out <- prometheus.MustNewConstMetric(k.descs[i], kind, v)
	}
}
