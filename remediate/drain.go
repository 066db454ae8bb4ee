package remediate

import (
	"slices"
	"time"

	"github.com/gpuhealthd/gpuhealthd/fault"
)

// emptied is what drains have emptied, for as long as the node has stayed closed
// since.
type emptied struct {
	At   time.Time      `json:"at,omitzero"`
	GPUs []fault.Device `json:"gpus,omitempty"`
	// Whole: every pod that a reboot would end.
	Whole bool `json:"whole,omitempty"`
	// Forced: it has had all its time, and a reboot waits for nobody any more.
	Forced bool `json:"forced,omitempty"`
}

// covers says whether all of that is empty.
func (e emptied) covers(ds []fault.Device, whole bool) bool {
	return !e.At.IsZero() && (e.Whole || !whole && within(ds, e.GPUs))
}

// cordoned says since when the node counts as closed for an incident. A hard
// fault does not wait for ever for an API server that is away: once Unreachable
// has passed its GPUs, if they are free, are reset all the same, and its drain
// gets its time.
func (p *Plan) cordoned(now time.Time, i *Incident) (since time.Time, ok bool) {
	if !i.holds() {
		return now, false
	}
	if i.Contained {
		return i.Seen, true
	}
	s := i.step(StepCordon)
	if s == nil || !i.Verdict.Hard {
		return now, false
	}
	since = later(s.Since, i.Seen).Add(p.policy.Unreachable)
	return since, !now.Before(since)
}

// whole says whether an incident needs the whole node to be empty: the agent is
// going to reboot the host for it.
func (p *Plan) whole(now time.Time, i *Incident) bool {
	return p.rung(now, i) == StepReboot && p.ours(i, StepReboot)
}

// scope gives the GPUs that have to be empty for an incident.
func (p *Plan) scope(i *Incident) []fault.Device {
	return union(i.Verdict.GPUs, i.Verdict.Affected, p.resetScope(i))
}

// needsDrain says whether an incident needs the agent to drain for it now, and the
// guards let it.
func (p *Plan) needsDrain(now time.Time, i *Incident) bool {
	return p.wantsDrain(now, i) && p.lets(now, i, StepDrain)
}

// wantsDrain says whether an incident wants the agent to drain for it now.
func (p *Plan) wantsDrain(now time.Time, i *Incident) bool {
	s := i.step(StepDrain)
	since, closed := p.cordoned(now, i)
	switch {
	case s == nil || s.Status == Withdrawn || !closed || !p.ours(i, StepDrain) || p.inRepair(now, i):
		return false
	case i.Replacement != nil && s.Status == Done:
		return false
	case s.Status == Overdue && now.Before(s.Since.Add(p.policy.Drain.Deadline)):
		return false
	case p.state.Emptied.covers(p.scope(i), p.whole(now, i)) || len(p.scope(i)) == 0 && !p.whole(now, i):
		return false
	case i.Verdict.Drain == fault.DrainNow:
		// Without the API nobody can be evicted, and nobody has to be from a GPU
		// that is free.
		return i.Contained || p.whole(now, i) || !p.free(now, p.scope(i), since)
	}
	return p.whole(now, i) && (p.doing(i, StepDrain) || p.idle(now, since))
}

// credit ends the drains that have been done for others.
func (p *Plan) credit(now time.Time) {
	for _, i := range p.live() {
		s := i.step(StepDrain)
		if s != nil && (s.Status == Planned || s.Status == Overdue) && p.ours(i, StepDrain) && p.state.Emptied.covers(p.scope(i), p.whole(now, i)) {
			i.mark(now, StepDrain, Done)
		}
	}
}

// nextDrain gives the one drain that all who need one need now, nil for none.
// Those whose drain is to force come first, and by themselves.
func (p *Plan) nextDrain(now time.Time) (*Deed, []*Incident) {
	served := slices.DeleteFunc(p.live(), func(i *Incident) bool { return !p.needsDrain(now, i) })
	force := slices.ContainsFunc(served, func(i *Incident) bool { return i.Forceful })
	if force {
		served = slices.DeleteFunc(served, func(i *Incident) bool { return !i.Forceful })
	}
	if len(served) == 0 {
		return nil, nil
	}
	d := &Deed{Kind: StepDrain, Force: force}
	for _, i := range served {
		d.GPUs = union(d.GPUs, p.scope(i))
		d.Whole = d.Whole || p.whole(now, i)
	}
	return d, served
}

// drain begins a drain, or changes the one under way where it has become another.
func (p *Plan) drain(now time.Time) {
	next, served := p.nextDrain(now)
	have := p.state.Deed
	switch {
	case next != nil && p.sources.Store != "":
	case have == nil && next != nil:
		p.startDrain(now, *next, served)
	case have == nil || have.Kind != StepDrain || have.Undoing:
	case next == nil, have.Force != next.Force && !p.stillServed(now):
		p.callOff(now, Withdrawn)
	case !p.sources.Polled && next.inside(&have.Deed): // what is reset together is not known yet
	case !have.stands(next):
		p.redrain(now, next, served)
	}
}

// stands says whether the drain under way is still the one that is needed. One
// that forces is not widened: it ends soon enough.
func (d *Deed) stands(next *Deed) bool {
	if d.Force && (!next.Force || d.inside(next)) {
		return true
	}
	return d.inside(next) && next.inside(d)
}

// redrain puts another drain in the place of the one under way: a wider one, which
// has its time anew, or a narrower one, which has not.
func (p *Plan) redrain(now time.Time, next *Deed, served []*Incident) {
	have := p.state.Deed
	if next.inside(&have.Deed) && !next.Force {
		next.Deadline = have.Deadline
	}
	wider := next.Whole && !have.Whole
	for _, i := range p.served(p.conclude()) {
		if !i.standing() {
			continue
		}
		if i.mark(now, StepDrain, Planned); wider {
			i.step(StepDrain).Tries = 0
		}
	}
	p.startDrain(now, *next, served)
}

// stillServed says whether any incident that the deed is for still needs a drain.
func (p *Plan) stillServed(now time.Time) bool {
	return slices.ContainsFunc(p.served(&p.state.Deed.Deed), func(i *Incident) bool { return i.standing() && p.needsDrain(now, i) })
}

// inside says whether all that one drain empties, another does too.
func (d *Deed) inside(o *Deed) bool {
	return (len(d.GPUs) == 0 || within(d.GPUs, o.GPUs)) && (o.Whole || !d.Whole)
}

func (p *Plan) startDrain(now time.Time, d Deed, served []*Incident) {
	first := slices.ContainsFunc(served, func(i *Incident) bool { return i.step(StepDrain).Tries == 0 })
	for _, i := range served {
		i.step(StepDrain).Tries++
	}
	p.begin(now, d, served)
	if first || d.Force {
		p.say(now, &p.state.Deed.Deed, "Normal", startReason(StepDrain), drainText(&p.state.Deed.Deed)+p.beyond(&p.state.Deed.Deed, served))
	}
}

// beyond says of a drain which of its GPUs no fault is about; empty for none.
func (p *Plan) beyond(d *Deed, served []*Incident) string {
	var about []fault.Device
	for _, i := range served {
		about = union(about, i.Verdict.GPUs, i.Verdict.Affected)
	}
	more := slices.DeleteFunc(slices.Clone(d.GPUs), func(g fault.Device) bool {
		return slices.ContainsFunc(about, func(a fault.Device) bool { return same(a, g) })
	})
	if d.Whole || len(more) == 0 {
		return ""
	}
	return "; no fault is about " + devices(more) + ", which a reset takes along"
}

// drainOver takes in how a drain ended.
func (p *Plan) drainOver(now time.Time, d *Deed, o Outcome) {
	switch o.Result {
	case Succeeded:
		p.state.Emptied = emptied{At: now, GPUs: union(p.state.Emptied.GPUs, d.GPUs), Whole: p.state.Emptied.Whole || d.Whole}
		for _, i := range p.served(d) {
			i.Forceful = false
			i.mark(now, StepDrain, Done)
			i.step(StepDrain).Tries = 0
		}
		p.say(now, d, "Normal", "Drained", "drained: "+d.where())
	case Unavailable:
		p.unavailable(now, d, o)
	default:
		p.overdue(now, d, o)
	}
}

// overdue decides what becomes of a drain that has had its time.
func (p *Plan) overdue(now time.Time, d *Deed, o Outcome) {
	force := p.policy.Drain.AtDeadline == Force
	first := false
	for _, i := range p.served(d) {
		first = first || i.step(StepDrain).Tries == 1 || d.Force
		i.Forceful = force && !d.Force
		i.mark(now, StepDrain, Overdue)
		i.because(StepDrain, o.inTheWay())
		if i.Forceful {
			i.mark(now, StepDrain, Planned)
		}
		if d.Force && p.rung(now, i) == StepReset {
			i.SkipReset = true // what cannot be killed is ended by a reboot alone
			if p.whole(now, i) {
				i.mark(now, StepDrain, Planned)
				i.step(StepDrain).Tries = 0
			}
		}
	}
	if d.Force && d.Whole {
		p.state.Emptied = emptied{At: now, GPUs: d.GPUs, Whole: true, Forced: true}
	}
	if first {
		p.say(now, d, "Warning", "DrainOverdue", overdueText(d, o, p.policy.Drain.AtDeadline))
	}
}
