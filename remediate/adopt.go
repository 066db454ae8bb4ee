package remediate

import (
	"fmt"
	"slices"
	"time"

	"github.com/gpuhealthd/gpuhealthd/fault"
)

// adopt takes over an incident that only the Node tells of: the store was lost,
// or moved aside. The cordon under it is ours and nobody else will release it.
// What no poll can clear stays until a person does; the rest goes through a
// probation, in which the judge finds again what is still broken.
func (p *Plan) adopt(now time.Time, o Observed) {
	n := o.Note
	if n == nil || n.Owner == "" || p.knows(n.ID) {
		return
	}
	v := fault.Verdict{ID: n.ID, Class: fault.Class(n.Fault), Action: fault.Cordon, Hardware: true, Opened: n.Opened,
		Reason: "found on the Node; this agent has no memory of it"}
	if v.Radius.UnmarshalText([]byte(n.Radius)) != nil {
		v.Radius = fault.Node
	}
	for _, g := range n.GPUs {
		v.GPUs = append(v.GPUs, p.device(g))
	}
	i := &Incident{Verdict: v, State: Probation, Claimed: true, Contained: o.Unschedulable, Adopted: true, Until: now.Add(p.policy.Probation)}
	if fault.RuleFor(v.Class).Cure == fault.CurePerson {
		i.State = Quarantined
	}
	p.state.Open = append(p.state.Open, i)
	p.tell(now, v, "Warning", "IncidentAdopted", fmt.Sprintf("the Node is marked for %s (incident %s), of which there is no memory; it stays out of service: %s",
		v.Class, v.ID, map[NodeState]string{Probation: "on probation", Quarantined: "until a person releases it"}[i.State]))
}

// knows says whether the plan has or had an incident.
func (p *Plan) knows(id string) bool {
	return p.find(id) != nil || slices.ContainsFunc(p.state.History, func(i Incident) bool { return i.Verdict.ID == id })
}

// device finds a GPU by the name that a mark gives it.
func (p *Plan) device(name string) fault.Device {
	for _, g := range p.sources.GPUs {
		if g.UUID == name {
			return g
		}
	}
	var d fault.Device
	if d.PCI.UnmarshalText([]byte(name)) != nil {
		d.UUID = name
	}
	return d
}

// sees says whether the driver can be asked, and the plan be written down.
func (p *Plan) sees() bool {
	return p.sources.Polled && p.sources.Blind == "" && p.sources.Store == ""
}
