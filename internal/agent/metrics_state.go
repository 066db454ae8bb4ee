package agent

import (
	"strconv"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/gpuhealthd/gpuhealthd/remediate"
)

// nodeStates are the values of the state label, each a series of its own.
var nodeStates = [...]remediate.NodeState{remediate.Healthy, remediate.Suspect, remediate.Quarantined,
	remediate.Draining, remediate.Repairing, remediate.Probation, remediate.Failed}

// state exports the Status, whole at each scrape.
type state struct {
	status                                                                                                         func() Status
	incidents, steps, node, gpus, offered, driverUp, probeUp, storeUp, waiting, diagElapsed, diagExpected, missing *prometheus.Desc
}

func newState(status func() Status) *state {
	d := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc("gpuhealthd_"+name, help, labels, nil)
	}
	return &state{status: status,
		incidents:    d("incidents_open", "Open incidents by fault class and state.", "fault", "state"),
		steps:        d("steps", "Steps of open incidents by kind and status.", "step", "status"),
		node:         d("node_state", "1 for the state that the node's label shall show, 0 for the others.", "state"),
		gpus:         d("gpus", "GPUs by what the driver says of them: listed, lost, or unknown.", "state"),
		offered:      d("gpus_offered", "GPUs that the Node offers to pods as nvidia.com/gpu: capacity, and allocatable, which is the device plugin's policy.", "amount"),
		driverUp:     d("driver_up", "1 while the driver answers whole polls, for every GPU that it lists. Only where there is one to ask."),
		probeUp:      d("probe_up", "1 while a probe's child answers: nvml, dcgm. Only those that are enabled.", "probe"),
		storeUp:      d("store_up", "1 while the plan can be written down."),
		diagElapsed:  d("diag_elapsed_seconds", "How long the diagnosis that is under way has run, or waited for the engine. Only while there is one.", "level"),
		diagExpected: d("diag_expected_seconds", "How long it takes at most, as far as was seen elsewhere. Only while there is one.", "level"),
		missing:      d("program_missing", "1 for each setting that names a program which cannot be run here.", "setting"),
		waiting:      d("intentions_waiting", "Events not yet told and Node writes not yet accepted."),
	}
}

// Describe implements prometheus.Collector.
func (s *state) Describe(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{s.incidents, s.steps, s.node, s.gpus, s.offered, s.driverUp, s.probeUp, s.storeUp, s.waiting, s.diagElapsed, s.diagExpected, s.missing} {
		out <- d
	}
}

// Collect implements prometheus.Collector.
func (s *state) Collect(out chan<- prometheus.Metric) {
	now := s.status()
	gauge := func(d *prometheus.Desc, value float64, labels ...string) {
		out <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, labels...)
	}
	incidents, steps := map[[2]string]float64{}, map[[2]string]float64{}
	for _, i := range now.Incidents {
		incidents[[2]string{classLabel(i.Verdict.Class), string(i.State)}]++
		for _, step := range i.Steps {
			steps[[2]string{string(step.Kind), string(step.Status)}]++
		}
	}
	for labels, n := range incidents {
		gauge(s.incidents, n, labels[:]...)
	}
	for labels, n := range steps {
		gauge(s.steps, n, labels[:]...)
	}
	for _, state := range nodeStates {
		gauge(s.node, number(now.Node != nil && now.Node.State == state), string(state))
	}
	for state, n := range countGPUs(now) {
		gauge(s.gpus, n, state)
	}
	if d := now.Diagnosis; d.Deed != nil {
		gauge(s.diagElapsed, d.Progress.Elapsed.Seconds(), strconv.Itoa(d.Deed.Level))
		gauge(s.diagExpected, d.Progress.Expected.Seconds(), strconv.Itoa(d.Deed.Level))
	}
	if now.Offered.Capacity > 0 {
		gauge(s.offered, float64(now.Offered.Capacity), "capacity")
		gauge(s.offered, float64(now.Offered.Allocatable), "allocatable")
	}
	if now.Driver.Enabled && !now.Driver.Gpuless {
		gauge(s.driverUp, number(now.Driver.Up()))
	}
	if now.Driver.Enabled {
		gauge(s.probeUp, number(now.Driver.Blind == "" && !now.Driver.Answered.IsZero()), "nvml")
	}
	if now.DCGM.Enabled {
		gauge(s.probeUp, number(now.DCGM.Version != "" && now.DCGM.Absent == ""), "dcgm")
	}
	for _, m := range now.Missing {
		gauge(s.missing, 1, m.Setting)
	}
	gauge(s.storeUp, number(now.Store == ""))
	gauge(s.waiting, float64(now.Waiting)+number(now.API != nil))
}

func countGPUs(s Status) map[string]float64 {
	count := map[string]float64{"listed": 0, "lost": 0, "unknown": 0}
	for _, g := range s.GPUs {
		switch {
		case g.Lost:
			count["lost"]++
		case g.Listed && s.Driver.Blind == "":
			count["listed"]++
		default:
			count["unknown"]++
		}
	}
	return count
}

func number(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
