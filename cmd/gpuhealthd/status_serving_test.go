package main

import (
	"time"

	"github.com/gpuhealthd/gpuhealthd/fault"
	"github.com/gpuhealthd/gpuhealthd/internal/agent"
	"github.com/gpuhealthd/gpuhealthd/remediate"
	"github.com/gpuhealthd/gpuhealthd/serving"
)

// served is a node with replicas: one that is well, one that has stalled, and one of
// which nothing is known.
func served() agent.Status {
	s := healthy()
	one, none, fast, slow := 1.0, 0.0, 0.021, 0.4
	s.Serving = &agent.ServingStatus{At: noon, Fleet: "ask http://prometheus:9090 for \"…\": connection refused",
		Replicas: []serving.Score{
			{Replica: serving.Replica{Name: "chat/a", UID: "1", GPUs: []string{s.GPUs[0].UUID}}, Model: "org/model-70b", State: serving.Well, Value: &one,
				Parts: map[serving.Part]float64{serving.PartGPU: 1, serving.PartProgress: 1, serving.PartLatency: 1}, Latency: serving.Latency{FirstToken: &slow, PerToken: &fast}},
			{Replica: serving.Replica{Name: "chat/b", UID: "2", GPUs: []string{s.GPUs[1].UUID}}, Model: "org/model-70b", State: serving.Stalled, Value: &none,
				Parts: map[serving.Part]float64{serving.PartGPU: 1, serving.PartProgress: 0}},
			{Replica: serving.Replica{Name: "chat/c", UID: "3"}, State: serving.Unclear, Parts: map[serving.Part]float64{}},
		},
		Faults: []agent.WorkloadFault{
			{Workload: "chat/b", Fault: fault.StalledEngine, Action: fault.Restart, Opened: noon.Add(-time.Minute), Reason: "its GPUs are quiet"},
			{Workload: "train/rank-0", Fault: fault.WedgedJob, Action: fault.Record, Opened: noon.Add(-time.Hour), Reason: "all GPUs of a job are busy and compute nothing"},
		},
		Unfound: []agent.Unfound{{Replica: "old", Why: `no process that is called "vllm" has a GPU open`}},
		Unasked: []agent.Unasked{{Replica: "chat/b", Endpoint: "http://10.0.0.2:8000/metrics", Why: "context deadline exceeded"}},
	}
	stalled := fault.Verdict{ID: "11111111-p1", Class: fault.StalledEngine, GPUs: []fault.Device{{PCI: s.GPUs[1].PCI, UUID: s.GPUs[1].UUID}}, Affected: []fault.Device{}, Victims: []fault.Device{},
		Workloads: []fault.Workload{{Name: "chat/b", UID: "2"}}, Action: fault.Restart, Reason: "requests are open and none gets on; its GPUs are quiet", Opened: noon.Add(-time.Minute), Count: 1}
	s.Incidents = []remediate.Incident{{Verdict: stalled, State: remediate.Suspect,
		Steps: []remediate.Step{{Kind: remediate.StepRestart, Status: remediate.UnderWay, Since: noon.Add(-50 * time.Second)}}}}
	return s
}
