package main

import (
	"time"

	"github.com/gpuhealthd/gpuhealthd/fault"
	"github.com/gpuhealthd/gpuhealthd/internal/agent"
	"github.com/gpuhealthd/gpuhealthd/remediate"
	"github.com/gpuhealthd/gpuhealthd/remediate/fleet"
	"github.com/gpuhealthd/gpuhealthd/remediate/guard"
)

// guarded is an agent whose group has no room for a soft fault, and more load than
// its capacity.
func guarded() agent.Status {
	s := quarantined()
	s.API, s.History = nil, []remediate.Incident{}
	i := &s.Incidents[0]
	i.Verdict.Class, i.Verdict.Hard, i.Verdict.Reason = fault.XID74, false, "NVLink error"
	i.State, i.Claimed, i.Contained = remediate.Suspect, false, false
	for n := range i.Steps {
		i.Steps[n].Status = remediate.Guarded
	}
	i.Held = []remediate.HeldAction{
		{Action: guard.Cordon, Since: noon.Add(-2 * time.Minute), Hold: guard.Hold{Guard: guard.Budget,
			Why: "2 nodes of 20 in pool=a are out of service, and 2 may be", Until: "fewer than 2 are"}},
		{Action: guard.Cordon, Since: noon.Add(-time.Minute), Hold: guard.Hold{Guard: guard.Capacity,
			Why: "the nodes left in pool=a would carry 95 % of their tested capacity, and 80 % is the most", Until: "the demand falls, or more nodes serve"}},
	}
	s.Diagnoses = s.Diagnoses[:0]
	s.Node = &remediate.Desired{State: remediate.Suspect, Fault: "xid-74", Radius: "gpu", GPUsHealthy: s.Node.GPUsHealthy, GPU: s.Node.GPU}
	s.Group = &fleet.Survey{At: noon.Add(-8 * time.Second), Group: "pool=a", Nodes: 20, Out: 2, Leave: 1, Budget: 2,
		Load: &guard.Load{Contract: "serving/capacity", Unit: "requests/s", PerNode: 100, Serving: 18, Own: 1, MaxLoad: 0.8, Minimum: 4, Demand: 1620,
			QueueAge: 3 * time.Second, Objective: 2 * time.Second, Shed: []guard.Class{{Name: "batch", Demand: 300}, {Name: "free", Demand: 100}}}}
	return s
}

// fenced is an agent that has one device fenced, another not, and cannot take a third
// fence away, in a group that answers with what a terminal would obey.
func fenced() agent.Status {
	s := quarantined()
	s.API, s.History, s.Diagnoses = nil, []remediate.Incident{}, s.Diagnoses[:0]
	i := &s.Incidents[0]
	i.Verdict.Class, i.Verdict.Reason = fault.XID95, "uncontained"
	i.Steps = []remediate.Step{{Kind: remediate.StepCordon, Status: remediate.Done, Since: noon.Add(-time.Minute)}}
	other := *i
	other.Verdict.ID, other.Verdict.GPUs = "11111111-1300", []fault.Device{{UUID: "GPU-7"}}
	other.Unfenced = "no ResourceSlice has the device"
	s.Incidents = append(s.Incidents, other)
	s.Node = &remediate.Desired{State: remediate.Suspect, Fault: "xid-95", Radius: "gpu", GPU: s.Node.GPU, Note: &remediate.Note{ID: i.Verdict.ID, Fence: remediate.FenceDevice}}
	s.Fences = []remediate.Fence{
		{GPU: i.Verdict.GPUs[0].UUID, Rules: []string{"gpuhealthd-n.gpu-1"}, Since: noon.Add(-50 * time.Second)},
		{GPU: "GPU-7"},
		{GPU: "GPU-8"},
		{GPU: "GPU-9", Rules: []string{"gpuhealthd-n.gpu-9"}, Ends: true, Stays: "forbidden\x1b[2J"},
	}
	s.Group = &fleet.Survey{At: noon, Group: "cluster", Nodes: 1, Out: 1, Budget: 1,
		Load: &guard.Load{Unknown: "ask http://prometheus: \x1b]0;owned\a"}}
	return s
}
