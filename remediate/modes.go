package remediate

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/gpuhealthd/gpuhealthd/fault"
)

// For gives the mode that holds for a class of fault.
func (p Policy) For(c fault.Class) Mode {
	if m, own := p.Modes[c]; own {
		return m
	}
	return p.Mode
}

// Repairs says whether anything is repaired by the agent, whatever class it is of.
func (p Policy) Repairs() bool {
	return p.Mode == Repair || slices.Contains(slices.Collect(maps.Values(p.Modes)), Repair)
}

// modes spells all modes as one, by which a change of them is seen.
func (p Policy) modes() Mode {
	all := p.Mode
	for _, c := range slices.Sorted(maps.Keys(p.Modes)) {
		all += Mode(" " + string(c) + "=" + string(p.Modes[c]))
	}
	return all
}

// mode gives the mode that holds for an incident.
func (p *Plan) mode(i *Incident) Mode { return p.policy.For(i.Verdict.Class) }

// observe settles what a mode before has left in mode observe. What keeps the node out
// of service stays until the fault is over: to give a sick node back is no less than to
// take it. But nothing is taken any more that was not seen to be.
func (p *Plan) observe(now time.Time) {
	for _, i := range p.state.Open {
		if !p.met || !i.holds() || p.mode(i) != Observe {
			continue
		}
		switch {
		case i.Contained && i.Kept:
			continue
		case i.Contained:
			i.Kept = true
			p.tell(now, i.Verdict, "Normal", "CordonKept", fmt.Sprintf("%s is only observed by now; the node stays out of service until that is over, as it was (incident %s)", i.Verdict.Class, i.Verdict.ID))
			continue
		}
		i.Claimed, i.Kept, i.ForIdle, i.State, i.Since = false, false, false, Suspect, time.Time{}
		i.mark(now, StepCordon, Withdrawn)
		p.tell(now, i.Verdict, "Normal", "ClaimEnded", fmt.Sprintf("%s is only observed by now, and the node stays in service (incident %s)", i.Verdict.Class, i.Verdict.ID))
	}
}

// takes says whether an incident keeps the node out of service, or would, by a mode
// that may.
func (p *Plan) takes(i *Incident) bool { return i.holds() && p.mode(i) != Observe }
