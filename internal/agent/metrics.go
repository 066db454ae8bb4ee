package agent

import (
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/gpuhealthd/gpuhealthd/fault"
	"github.com/gpuhealthd/gpuhealthd/xidparse"
)

// Metrics are the agent's own, under the prefix gpuhealthd_.
type Metrics struct {
	events       *prometheus.CounterVec
	verdictsMade *prometheus.CounterVec
	open         *prometheus.GaugeVec
	steps        *prometheus.GaugeVec
	nodeState    *prometheus.GaugeVec
	lineToJudged prometheus.Histogram
	driverUp     prometheus.Gauge
	gpus         *prometheus.GaugeVec
	storeOK      prometheus.Gauge
	saveSeconds  prometheus.Histogram
	waiting      prometheus.Gauge
	applies      *prometheus.CounterVec
	eventErrors  prometheus.Counter
	requests     *prometheus.HistogramVec
}

// NewMetrics registers the metrics that the agent counts itself.
func NewMetrics(reg prometheus.Registerer) *Metrics {
	m := &Metrics{
		events:       counters("kernel_events_total", "Lines of the driver that were heard, by kind and code; a code that no catalogue has is other.", "kind", "code"),
		verdictsMade: counters("verdicts_total", "Verdicts by fault class and action, each change of one counted.", "fault", "action"),
		open:         gauges("incidents_open", "Open incidents by fault class and state.", "fault", "state"),
		steps:        gauges("steps", "Steps of open incidents by kind and status.", "step", "status"),
		nodeState:    gauges("node_state", "1 for the state that the node's label shall show.", "state"),
		lineToJudged: latency("kernel_line_judged_seconds", "Time from a batch of kernel records to its verdicts.", prometheus.ExponentialBuckets(1e-5, 4, 9)),
		driverUp:     gauge("driver_up", "1 while the driver answers whole polls."),
		gpus:         gauges("gpus", "GPUs by what the driver says of them: listed, lost, or unknown.", "state"),
		storeOK:      gauge("store_up", "1 while the plan can be written down."),
		saveSeconds:  latency("store_save_seconds", "Time to write the plan down.", prometheus.ExponentialBuckets(2.5e-4, 4, 7)),
		waiting:      gauge("intentions_waiting", "Events not yet told and Node writes not yet accepted."),
		applies:      counters("node_applies_total", "Tries to bring the Node to what it shall say, by result.", "result"),
		eventErrors:  prometheus.NewCounter(prometheus.CounterOpts{Namespace: "gpuhealthd", Name: "event_errors_total", Help: "Events that the API server did not take at a try."}),
		requests: prometheus.NewHistogramVec(prometheus.HistogramOpts{Namespace: "gpuhealthd", Name: "api_request_seconds",
			Help: "Requests to the API server by verb, resource and code.", Buckets: prometheus.ExponentialBuckets(1e-3, 4, 8)}, []string{"verb", "resource", "code"}),
	}
	reg.MustRegister(m.events, m.verdictsMade, m.open, m.steps, m.nodeState, m.lineToJudged, m.driverUp, m.gpus,
		m.storeOK, m.saveSeconds, m.waiting, m.applies, m.eventErrors, m.requests)
	return m
}

func counters(name, help string, labels ...string) *prometheus.CounterVec {
	return prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: "gpuhealthd", Name: name, Help: help}, labels)
}

func gauges(name, help string, labels ...string) *prometheus.GaugeVec {
	return prometheus.NewGaugeVec(prometheus.GaugeOpts{Namespace: "gpuhealthd", Name: name, Help: help}, labels)
}

func gauge(name, help string) prometheus.Gauge {
	return prometheus.NewGauge(prometheus.GaugeOpts{Namespace: "gpuhealthd", Name: name, Help: help})
}

func latency(name, help string, buckets []float64) prometheus.Histogram {
	return prometheus.NewHistogram(prometheus.HistogramOpts{Namespace: "gpuhealthd", Name: name, Help: help, Buckets: buckets})
}

// Request counts a request to the API server; it fits kube.Observe.
func (m *Metrics) Request(verb, resource, code string, took time.Duration) {
	m.requests.WithLabelValues(verb, resource, code).Observe(took.Seconds())
}

func (m *Metrics) heard(ev xidparse.Event) {
	m.events.WithLabelValues(ev.Kind.String(), codeLabel(ev)).Inc()
}

// codeLabel bounds the label: only numbers that a catalogue has are named.
func codeLabel(ev xidparse.Event) string {
	known := false
	switch ev.Kind {
	case xidparse.KindXID, xidparse.KindOffBus:
		_, known = xidparse.Lookup(ev.Code)
	case xidparse.KindSXID:
		_, known = xidparse.LookupSXid(ev.Code)
	default:
		return ""
	}
	if !known {
		return "other"
	}
	return strconv.Itoa(ev.Code)
}

func (m *Metrics) verdict(v fault.Verdict) {
	m.verdictsMade.WithLabelValues(classLabel(v.Class), v.Action.String()).Inc()
}

// classLabel bounds the label in the same way.
func classLabel(c fault.Class) string {
	if code, ok := c.Code(); ok {
		if _, known := xidparse.Lookup(code); !known {
			return "other"
		}
	}
	return string(c)
}

func (m *Metrics) judged(lines int, took time.Duration) {
	if lines > 0 {
		m.lineToJudged.Observe(took.Seconds())
	}
}

func (m *Metrics) saved(took time.Duration) { m.saveSeconds.Observe(took.Seconds()) }

func (m *Metrics) storeUp(up bool) { m.storeOK.Set(number(up)) }

func (m *Metrics) applied(err error) {
	result := "ok"
	if err != nil {
		result = "failed"
	}
	m.applies.WithLabelValues(result).Inc()
}

func (m *Metrics) eventFailed() { m.eventErrors.Inc() }

// show sets the gauges from the state.
func (m *Metrics) show(s *Status) {
	m.open.Reset()
	m.steps.Reset()
	for _, i := range s.Incidents {
		m.open.WithLabelValues(classLabel(i.Verdict.Class), string(i.State)).Inc()
		for _, step := range i.Steps {
			m.steps.WithLabelValues(string(step.Kind), string(step.Status)).Inc()
		}
	}
	m.nodeState.Reset()
	if s.Node != nil {
		m.nodeState.WithLabelValues(string(s.Node.State)).Set(1)
	}
	m.gpus.Reset()
	for _, g := range s.GPUs {
		switch {
		case g.Lost:
			m.gpus.WithLabelValues("lost").Inc()
		case g.Listed && s.Driver.Blind == "":
			m.gpus.WithLabelValues("listed").Inc()
		default:
			m.gpus.WithLabelValues("unknown").Inc()
		}
	}
	m.driverUp.Set(number(s.Driver.Enabled && s.Driver.Blind == "" && !s.Driver.Answered.IsZero()))
	m.waiting.Set(float64(s.Waiting) + number(s.API != nil))
}

func number(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
