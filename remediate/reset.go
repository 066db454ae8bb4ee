package remediate

import (
	"slices"
	"time"

	"github.com/gpuhealthd/gpuhealthd/fault"
)

// maxRetries is how often a reset is tried again that was refused because of a
// holder who is gone by now.
const maxRetries = 1

// resetScope gives the GPUs that are reset for an incident: its own, the whole
// board where that is what is broken, or a switch of it, and what can only be
// reset with them.
func (p *Plan) resetScope(i *Incident) []fault.Device {
	ds := i.Verdict.GPUs
	if i.Verdict.Radius == fault.Baseboard || len(ds) == 0 {
		ds = union(ds, i.Verdict.Affected)
	}
	for _, group := range p.sources.Together {
		if overlap(group, ds) {
			ds = union(ds, group)
		}
	}
	return union(ds)
}

// wantsReset says whether an incident's next repair is a reset by the agent.
func (p *Plan) wantsReset(now time.Time, i *Incident) bool {
	return p.rung(now, i) == StepReset && p.ours(i, StepReset) && !p.inRepair(now, i) && i.Refusals <= maxRetries &&
		!now.Before(i.Pause)
}

// empty says since when the GPUs of an incident have to be seen free, once they
// were emptied or, where nobody is made to leave, the node was closed.
func (p *Plan) empty(now time.Time, i *Incident) (since time.Time, ok bool) {
	closed, ok := p.cordoned(now, i)
	closed = later(closed, p.refusedAt(i))
	switch e := p.state.Emptied; {
	case !ok || i.Verdict.Drain != fault.DrainNow || !p.ours(i, StepDrain):
		return closed, ok
	case e.covers(p.scope(i), false):
		return later(closed, e.At), true
	}
	return closed, !i.Contained && p.free(now, p.scope(i), closed)
}

// nextReset gives the one reset of all GPUs that may be reset now, nil for none,
// and those that it serves.
func (p *Plan) nextReset(now time.Time) (*Deed, []*Incident) {
	d := &Deed{Kind: StepReset}
	var served []*Incident
	for _, i := range p.live() {
		since, ok := p.empty(now, i)
		if ok && p.wantsReset(now, i) && !p.rebootComes(now, i) && p.freeFor(now, i, since) && p.letsReset(now, i) {
			d.GPUs = union(d.GPUs, p.resetScope(i))
			served = append(served, i)
		}
	}
	if len(served) == 0 {
		return nil, nil
	}
	return d, served
}

// reset begins the reset that is due, if there is one.
func (p *Plan) reset(now time.Time) {
	d, served := p.nextReset(now)
	if d == nil {
		return
	}
	p.begin(now, *d, served)
	p.say(now, &p.state.Deed.Deed, "Normal", startReason(StepReset), "reset of "+p.state.Deed.where()+" begun")
}

// letsReset says whether the guards let a reset begin. Where the API server is away
// nobody can be asked, and a hard fault's GPUs that are free serve nobody: they are
// reset all the same.
func (p *Plan) letsReset(now time.Time, i *Incident) bool {
	return !i.Contained || p.lets(now, i, StepReset)
}

// block sees to the resets whose GPUs were emptied and are not seen free for as
// long as a drain may take.
func (p *Plan) block(now time.Time) {
	for _, i := range p.live() {
		since, ok := p.empty(now, i)
		s := i.step(StepReset)
		if !ok || s == nil || s.Status != Planned || !p.wantsReset(now, i) || p.rebootComes(now, i) || p.doing(i, StepDrain) ||
			p.free(now, p.resetScope(i), since) || now.Before(since.Add(p.policy.Drain.Deadline)) {
			continue
		}
		why := p.heldBy(p.holders(p.resetScope(i)))
		p.tell(now, i.Verdict, "Warning", "ResetBlocked", blockedText(i, why))
		p.giveWay(now, i)
		i.because(StepReset, why)
	}
}

// giveWay decides what becomes of a reset while somebody holds a GPU.
func (p *Plan) giveWay(now time.Time, i *Incident) {
	switch {
	case i.Verdict.Drain != fault.DrainNow && i.Refusals <= maxRetries:
		i.mark(now, StepReset, WhenIdle)
		p.disclaim(now, i)
	case i.Verdict.Drain == fault.DrainNow && p.policy.Reset.OnHolders == HolderReboot && p.ours(i, StepReboot):
		i.SkipReset = true
	default:
		i.mark(now, StepReset, Blocked)
	}
}

// resetOver takes in how a reset ended.
func (p *Plan) resetOver(now time.Time, d *Deed, o Outcome) {
	served := p.served(d)
	for _, i := range served {
		i.mark(now, StepReset, Fruitless)
		i.because(StepReset, o.Text)
		if o.Result == Succeeded {
			i.mark(now, StepReset, Done)
		}
	}
	switch o.Result {
	case Succeeded:
		p.settle(now, d)
		p.say(now, d, "Normal", "ResetDone", "reset: "+d.where())
	case Refused:
		p.refund(d.ID, StepReset)
		for _, i := range served {
			i.Refusals, i.Refusers = i.Refusals+1, o.Holders
			p.giveWay(now, i)
			i.because(StepReset, "refused: held by "+named(o))
		}
		p.say(now, d, "Warning", "ResetRefused", "reset of "+d.where()+" refused: held by "+named(o))
	case Unavailable:
		p.refund(d.ID, StepReset)
		p.unavailable(now, d, o)
	case Undecided, Aborted:
		p.settle(now, d)
		p.say(now, d, "Warning", "ResetUndecided", "nobody knows whether "+d.where()+" was reset, which counts as done once: "+o.Text)
	default:
		p.say(now, d, "Warning", "ResetFailed", "reset of "+d.where()+" failed: "+o.Text)
	}
}

// settle gives what was repaired time to be seen to work. Only a person ends a
// fault that no repair does.
func (p *Plan) settle(now time.Time, d *Deed) {
	for _, i := range p.live() {
		served := slices.Contains(d.Incidents, i.Verdict.ID) || within(i.Verdict.GPUs, d.GPUs)
		if served {
			p.renew(now, i)
		}
		if served && i.Over == nil && i.Verdict.Hardware && fault.RuleFor(i.Verdict.Class).Cure != fault.CurePerson {
			i.Settling = now.Add(p.policy.Settle)
		}
	}
}

// later gives the later of two times.
func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
