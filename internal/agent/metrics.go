package agent

import (
	"cmp"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/gpuhealthd/gpuhealthd/diag"
	"github.com/gpuhealthd/gpuhealthd/fault"
	"github.com/gpuhealthd/gpuhealthd/remediate/kube"
	"github.com/gpuhealthd/gpuhealthd/xidparse"
)

// Metrics are what the agent counts, under the prefix gpuhealthd_. What is a state
// and no count is read from the Status at the scrape.
type Metrics struct {
	events       *prometheus.CounterVec
	services     *prometheus.CounterVec
	verdictsMade *prometheus.CounterVec
	lineToJudged prometheus.Histogram
	saveSeconds  prometheus.Histogram
	applies      *prometheus.CounterVec
	eventErrors  prometheus.Counter
	evidenceLost prometheus.Counter
	requests     *prometheus.HistogramVec
	calls        *callCosts
	restarts     *prometheus.CounterVec
	diagResults  *prometheus.CounterVec
	diagSeconds  prometheus.Histogram
	canary       *prometheus.CounterVec
}

// NewMetrics registers the metrics that the agent counts itself.
func NewMetrics(reg prometheus.Registerer) *Metrics {
	m := &Metrics{
		events:       counters("kernel_events_total", "Lines of the driver that were heard, by kind and code; a code that no catalogue has is other.", "kind", "code"),
		services:     counters("service_events_total", "What the driver's services said of themselves, by unit and kind.", "unit", "kind"),
		verdictsMade: counters("verdicts_total", "Verdicts by fault class and action, each change of one counted.", "fault", "action"),
		lineToJudged: latency("kernel_line_judged_seconds", "Time from a batch of kernel records to its verdicts.", prometheus.ExponentialBuckets(1e-5, 4, 9)),
		saveSeconds:  latency("store_save_seconds", "Time to write the plan down.", prometheus.ExponentialBuckets(2.5e-4, 4, 7)),
		applies:      counters("node_applies_total", "Tries to bring the Node to what it shall say, by result: ok, or why not; forbidden needs a person.", "result"),
		eventErrors:  prometheus.NewCounter(prometheus.CounterOpts{Namespace: "gpuhealthd", Name: "event_errors_total", Help: "Events that the API server did not take at a try."}),
		evidenceLost: prometheus.NewCounter(prometheus.CounterOpts{Namespace: "gpuhealthd", Name: "evidence_lost_total", Help: "Pieces of evidence that could not be written."}),
		requests: prometheus.NewHistogramVec(prometheus.HistogramOpts{Namespace: "gpuhealthd", Name: "api_request_seconds",
			Help: "Requests to the API server by verb, resource and code.", Buckets: prometheus.ExponentialBuckets(1e-3, 4, 8)}, []string{"verb", "resource", "code"}),
		calls:       newCallCosts(),
		diagResults: counters("diag_results_total", "Verdicts of diagnoses on GPUs, by level and verdict.", "level", "verdict"),
		diagSeconds: latency("diag_seconds", "Time that a diagnosis ran.", prometheus.ExponentialBuckets(1, 2, 13)),
		restarts:    counters("probe_restarts_total", "Children that ended by themselves and were started again, by probe.", "probe"),
		canary:      counters("canary_requests_total", "Requests of the canary to replicas, by how they ended: "+outcomes()+".", "outcome"),
	}
	reg.MustRegister(m.canary, m.diagResults, m.diagSeconds, m.calls, m.restarts, m.events, m.services, m.verdictsMade, m.lineToJudged, m.saveSeconds, m.applies, m.eventErrors, m.evidenceLost, m.requests)
	return m
}

func counters(name, help string, labels ...string) *prometheus.CounterVec {
	return prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: "gpuhealthd", Name: name, Help: help}, labels)
}

func latency(name, help string, buckets []float64) prometheus.Histogram {
	return prometheus.NewHistogram(prometheus.HistogramOpts{Namespace: "gpuhealthd", Name: name, Help: help, Buckets: buckets})
}

// Request counts a request to the API server; it fits apiserver.Observe.
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

func (m *Metrics) diagnosed(level int, v diag.Verdict) {
	m.diagResults.WithLabelValues(strconv.Itoa(level), string(v)).Inc()
}

// classLabel bounds the label in the same way.
func classLabel(c fault.Class) string {
	if !c.Known() {
		return "other"
	}
	return string(c)
}

func (m *Metrics) applied(err error) {
	m.applies.WithLabelValues(cmp.Or(string(kube.Classify(err)), "ok")).Inc()
}
