package remediate

import (
	"slices"
	"time"

	"github.com/gpuhealthd/gpuhealthd/fault"
)

// rebootComes says whether another incident brings a reboot soon, which is the
// reset of all GPUs. One that waits for an idle window holds up nobody who does
// not; nor does one whose drain is overdue.
func (p *Plan) rebootComes(now time.Time, i *Incident) bool {
	return slices.ContainsFunc(p.live(), func(o *Incident) bool {
		if o == i || !p.whole(now, o) || o.Verdict.Drain < i.Verdict.Drain || p.inRepair(now, o) {
			return false
		}
		_, closed := p.cordoned(now, o)
		drain, reboot := o.step(StepDrain), o.step(StepReboot)
		return closed && (drain == nil || drain.Status != Overdue) && (reboot == nil || reboot.Status != Blocked)
	})
}

// mayReboot says whether the host may be rebooted for an incident: the node was
// emptied and nobody has come since, or the drain has had all its time and the
// policy says force. Where the agent does not drain, it cannot know of the pods
// that hold no GPU: there only the deadline counts.
func (p *Plan) mayReboot(now time.Time, i *Incident) bool {
	closed, ok := p.cordoned(now, i)
	if !ok {
		return false
	}
	force := p.policy.Drain.AtDeadline == Force
	if !p.ours(i, StepDrain) {
		s := i.step(StepDrain)
		return force && s != nil && !now.Before(later(closed, s.Since).Add(p.policy.Drain.Deadline)) &&
			(i.Verdict.Drain == fault.DrainNow || p.idle(now, closed))
	}
	e := p.state.Emptied
	switch {
	case !e.Whole:
		return false
	case e.Forced:
		return true
	}
	return p.idle(now, e.At) || force && !now.Before(e.At.Add(p.policy.Drain.Deadline))
}

// nextReboot gives the reboot of the host that may be begun now, nil for none, and
// those that it serves.
func (p *Plan) nextReboot(now time.Time) (*Deed, []*Incident) {
	d := &Deed{Kind: StepReboot}
	var served []*Incident
	wanted := false
	for _, i := range p.live() {
		if rung := p.rung(now, i); p.inRepair(now, i) || rung != StepReset && rung != StepReboot {
			continue
		}
		served = append(served, i)
		d.GPUs = union(d.GPUs, i.Verdict.GPUs)
		wanted = wanted || p.whole(now, i) && p.mayReboot(now, i) && p.lets(now, i, StepReboot)
	}
	if !wanted || !p.booted { // the next boot is told from this one by its id alone
		return nil, nil
	}
	return d, served
}

// reboot begins the reboot of the host, if there is one to begin.
func (p *Plan) reboot(now time.Time) {
	d, served := p.nextReboot(now)
	if d == nil {
		return
	}
	p.begin(now, *d, served)
	p.say(now, &p.state.Deed.Deed, "Warning", startReason(StepReboot), "reboot of the host begun, for "+p.state.Deed.where())
}

// stuck tells of a reboot that waits for holders that came, or stayed unknown,
// after the drain.
func (p *Plan) stuck(now time.Time) {
	e := p.state.Emptied
	if !e.Whole || now.Before(e.At.Add(p.policy.Drain.Deadline)) || p.state.Deed != nil {
		return
	}
	for _, i := range p.live() {
		if s := i.step(StepReboot); s != nil && s.Status == Planned && p.whole(now, i) && !p.mayReboot(now, i) {
			why := p.heldBy(p.anybody())
			i.mark(now, StepReboot, Blocked)
			i.because(StepReboot, why)
			p.tell(now, i.Verdict, "Warning", "RebootBlocked", blockedText(i, why))
		}
	}
}

// rebooted takes in that the host has come up anew, as was wanted.
func (p *Plan) rebooted(now time.Time, d *Deed) {
	for _, i := range p.served(d) {
		i.mark(now, StepReboot, Done)
	}
	p.settle(now, d)
	p.say(now, d, "Normal", "Rebooted", "the host was rebooted, for "+d.where())
}

// rebootFailed takes in that the host was not rebooted.
func (p *Plan) rebootFailed(now time.Time, d *Deed, o Outcome) {
	p.refund(d.ID, StepReset) // what was to come with it has not
	if o.Result == Unavailable {
		p.refund(d.ID, StepReboot)
		p.unavailable(now, d, o)
		return
	}
	for _, i := range p.served(d) {
		i.mark(now, StepReboot, Fruitless)
		i.because(StepReboot, o.Text)
	}
	p.say(now, d, "Warning", "RebootFailed", "the host was not rebooted: "+o.Text)
}
