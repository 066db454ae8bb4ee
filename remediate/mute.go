package remediate

import (
	"slices"
	"time"

	"github.com/gpuhealthd/gpuhealthd/remediate/guard"
)

// speechless says whether guards hold what others would be asked for.
func (i *Incident) speechless() bool {
	return slices.ContainsFunc(i.Steps, func(s Step) bool { return s.Kind != StepCordon && s.Status == Guarded })
}

// mute says whether guards hold that others are asked for a step of an incident whose
// own cordon asked nobody. They hold words where those would do harm: while somebody has
// the node in hand, and in what looks like a rollout. Who does the step answers for the
// budget. What was asked for stays so.
func (p *Plan) mute(now time.Time, i *Incident, k StepKind) bool {
	g := p.policy.Guards
	if g == nil || !i.Verdict.Acts() || i.Asks(k) || p.mode(i) == Observe {
		return false
	}
	if h := p.gate.inHand.Hold(); h != nil {
		p.hold(i, guard.Action(k), []guard.Hold{*h})
		return true
	}
	if !g.Fleet || !i.Verdict.Hard || p.state.Leave != nil {
		return false
	}
	if k == StepDiag && slices.ContainsFunc(i.Steps, func(s Step) bool { return s.Status.waits() && p.ours(i, s.Kind) }) {
		return true // it comes after what the agent does by leave
	}
	if guard.Family(i.Verdict.Class) == nil {
		return false
	}
	granted, holds := p.request(now, guard.Ask{Incident: i.Verdict.ID, Class: i.Verdict.Class, Action: guard.Request, Hard: true, Out: p.holding(), Since: i.Verdict.Opened})
	if len(holds) > 0 {
		p.hold(i, guard.Action(k), holds)
	}
	return !granted
}
