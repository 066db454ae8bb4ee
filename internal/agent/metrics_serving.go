package agent

import (
	"maps"
	"slices"
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/gpuhealthd/gpuhealthd/serving"
)

// servingMetrics exports the replicas of the node, whole at each scrape; there are as
// many as GPUs or MIG instances at most.
type servingMetrics struct {
	status                                       func() *ServingStatus
	score, part, first, each, state, fault, mute *prometheus.Desc
	asked, rate, trial, unfound, outcome         *prometheus.Desc
}

func newServingMetrics(status func() *ServingStatus) *servingMetrics {
	d := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc("gpuhealthd_serving_"+name, help, labels, nil)
	}
	return &servingMetrics{status: status,
		score:   d("score", "Health of a replica from 0 to 1, that of its worst part. Only where any part is known.", "replica", "model"),
		part:    d("score_part", "Parts of the score of a replica, from 0 to 1: progress, latency, gpu, canary. Only those that are known.", "replica", "part"),
		first:   d("first_token_seconds", "95th percentile of the time to the first token over the last minute, by the engine.", "replica"),
		each:    d("per_token_seconds", "95th percentile of the time for each further token over the last minute, by the engine.", "replica"),
		state:   d("replica_state", "1 for what is held of a replica: unclear, well, doubtful, stalled; 0 for the others.", "replica", "state"),
		fault:   d("workload_fault", "1 for each open fault of a replica, or of a job without an engine: stalled-engine, stalled-gpu, wedged-job, slow; those that are only recorded too.", "workload", "fault"),
		mute:    d("endpoints_unanswered", "Endpoints of serving engines that did not answer the last time."),
		unfound: d("replicas_unfound", "Replicas that the configuration or a pod names and that cannot be asked, or judged, as it was meant."),
		asked:   d("canary_first_token_seconds", "Time to the first token of the canary's last request to a replica that got one.", "replica"),
		rate:    d("canary_tokens_per_second", "Tokens a second behind the first, of the canary's last request to a replica that got some.", "replica"),
		outcome: d("canary_outcome", "1 for how the canary's last request to a replica ended: "+outcomes()+"; 0 for the others. Only where there was one.", "replica", "outcome"),
		trial:   d("replica_trial", "1 for how far a replica has proved that it serves: held, without requests until it has; unproved, and it has them; passed; failing, by the canary.", "replica", "trial"),
	}
}

// Describe implements prometheus.Collector.
func (m *servingMetrics) Describe(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{m.score, m.part, m.first, m.each, m.state, m.fault, m.mute, m.asked, m.rate, m.outcome, m.trial, m.unfound} {
		out <- d
	}
}

// Collect implements prometheus.Collector.
func (m *servingMetrics) Collect(out chan<- prometheus.Metric) {
	s := m.status()
	if s == nil {
		return // nobody asks engines here
	}
	gauge := func(d *prometheus.Desc, value float64, labels ...string) {
		out <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, labels...)
	}
	known := func(d *prometheus.Desc, value *float64, labels ...string) {
		if value != nil {
			gauge(d, *value, labels...)
		}
	}
	gauge(m.mute, float64(len(s.Unasked)))
	gauge(m.unfound, float64(len(s.Unfound)))
	for _, f := range s.Faults {
		gauge(m.fault, 1, f.Workload, classLabel(f.Fault))
	}
	for _, t := range s.Trials {
		name := t.Replica.Name
		for _, at := range trialNames() {
			gauge(m.trial, number(at == trialName(t)), name, at)
		}
		if t.Canary != nil {
			known(m.asked, t.Canary.FirstToken, name)
			known(m.rate, t.Canary.Rate, name)
			m.ended(gauge, name, *t.Canary)
		}
	}
	for _, r := range s.Replicas {
		name := r.Replica.Name
		known(m.score, r.Value, name, r.Model)
		for _, part := range slices.Sorted(maps.Keys(r.Parts)) {
			gauge(m.part, r.Parts[part], name, string(part))
		}
		known(m.first, r.Latency.FirstToken, name)
		known(m.each, r.Latency.PerToken, name)
		for _, state := range serving.States() {
			gauge(m.state, number(r.State == state), name, state.String())
		}
	}
}

// ended tells how a canary's last request to a replica did.
func (m *servingMetrics) ended(gauge func(*prometheus.Desc, float64, ...string), name string, r serving.Recent) {
	last, any := r.Last()
	if !any {
		return
	}
	for _, o := range serving.Outcomes() {
		gauge(m.outcome, number(o == last), name, o.String())
	}
}

// trialNames are how far replicas can be, as metrics have it.
func trialNames() []string { return []string{trialHeld, "unproved", "passed", trialFailing} }

// Those that are said of a replica before its state.
const (
	trialHeld    = "held"
	trialFailing = "failing"
)

func trialName(t serving.Trial) string {
	switch {
	case t.Waits():
		return trialHeld
	case !t.Failing.IsZero():
		return trialFailing
	case !t.Open():
		return "unproved"
	}
	return "passed"
}

// outcomes are those of a canary's requests.
func outcomes() string {
	var names []string
	for _, o := range serving.Outcomes() {
		names = append(names, o.String())
	}
	return strings.Join(names, ", ")
}
