package remediate

import (
	"fmt"
	"slices"
	"time"

	"github.com/gpuhealthd/gpuhealthd/fault"
)

// grace is how long after its deadline a deed may still be told of by whoever
// does it: they know better than the plan why it failed.
const grace = 30 * time.Second

// underway is the deed that is under way, as it is saved.
type underway struct {
	Deed
	// Watched: nobody is to do it any more. It was begun by an agent that died, or
	// it has been done, and what comes of it shows by itself.
	Watched bool `json:"watched,omitempty"`
}

// Deed gives a copy of what should be under way now, nil for nothing. The plan
// has to be on disk before it is begun, and again after each Owes. What is under
// way and is not given any more, or under another ID, has to be stopped.
func (p *Plan) Deed() *Deed {
	d := p.state.Deed
	if d == nil || d.Watched {
		return nil
	}
	c := d.Deed
	c.GPUs, c.Incidents, c.Undo = slices.Clone(d.GPUs), slices.Clone(d.Incidents), slices.Clone(d.Undo)
	c.Workloads = slices.Clone(d.Workloads)
	return &c
}

// Owes records one thing that will have to be put back, before it is changed,
// and says whether it may be changed: once the plan is on disk, and not where
// the deed is not wanted any more or nothing can be written down.
func (p *Plan) Owes(_ time.Time, deed, undo string) bool {
	d := p.state.Deed
	if d == nil || d.ID != deed || d.Undoing || d.Watched || p.sources.Store != "" {
		return false
	}
	if !slices.Contains(d.Undo, undo) {
		d.Undo = append(d.Undo, undo)
	}
	return true
}

// Undone takes in that all that a deed has changed is put back.
func (p *Plan) Undone(now time.Time, deed string) {
	d := p.state.Deed
	if d == nil || d.ID != deed {
		return
	}
	if d.Undo = nil; d.Undoing {
		p.state.Deed = nil
	}
	p.decide(now)
}

// Done takes in how a deed ended. That of another deed than the present one
// means nothing: it was called off, or has had its time.
func (p *Plan) Done(now time.Time, o Outcome) {
	if d := p.state.Deed; d != nil && d.ID == o.Deed && !d.Undoing && !d.Watched {
		p.finish(now, o)
	}
	p.decide(now)
}

// Boot takes in which boot is running. It comes first after a start.
func (p *Plan) Boot(now time.Time, id string) {
	p.booted = true
	if p.state.Boot == id {
		return
	}
	known := p.state.Boot != ""
	p.state.Boot = id
	if !known {
		return
	}
	p.state.Emptied, p.occupied, p.state.Verification = emptied{}, nil, nil
	p.unsee(now)
	for _, i := range p.state.Open {
		if i.Over != nil {
			p.renew(now, i)
		}
	}
	p.startedAnew(now)
	if d := p.state.Deed; d != nil && d.Kind == StepReboot && !d.Undoing && d.BootID != id {
		p.rebooted(now, p.conclude())
	}
	p.decide(now)
}

// inherit takes over the deed of the agent before. What is not Resumable is only
// watched.
func (p *Plan) inherit() {
	d := p.state.Deed
	if d == nil || d.Undoing {
		return
	}
	if p.policy.Repairs() && !d.moves() && !p.means(d.Kind).resumable() {
		d.Resumable = false
	}
	d.Watched = !d.Resumable
}

// disown takes back the deed that was begun when the store broke: nobody has
// heard of it.
func (p *Plan) disown(now time.Time) {
	d := p.state.Deed
	if d == nil || p.unsaved == "" || d.ID != p.unsaved {
		return
	}
	p.refund(d.ID, StepReset, StepReboot)
	p.Told(d.ID + "/" + startReason(d.Kind))
	for _, i := range p.served(&d.Deed) {
		i.mark(now, d.Kind, Planned)
	}
	p.unask(d.ID)
	p.state.Deed, p.unsaved = nil, ""
	p.keep(d)
}

// moves says whether the deed moves pods: to do so twice is as to do it once.
func (d *Deed) moves() bool { return d.Kind == StepDrain || d.Kind == StepRestart }

// keep goes on with what a deed has still to put back, if anything. Who is out of
// rotation may stay so: the next deed takes it over.
func (p *Plan) keep(d *underway) {
	switch {
	case len(d.Undo) == 0:
	case d.moves():
		p.state.Rotation = append(p.state.Rotation, d.Undo...)
	default:
		d.Undoing, d.Watched = true, false
		p.state.Deed = d
	}
}

// begin puts a deed under way for the incidents that it serves.
func (p *Plan) begin(now time.Time, d Deed, served []*Incident) {
	served = p.byRank(served)
	p.state.Serial++
	worst := fault.Verdict{ID: "asked", Reason: "asked for"}
	if len(served) > 0 {
		worst = served[0].Verdict
	}
	d.ID = fmt.Sprintf("%s-%s-%d", worst.ID, d.Kind, p.state.Serial)
	d.Fault, d.Reason = worst.Class, worst.Reason
	d.Began, d.BootID = now, p.state.Boot
	d.Resumable = d.moves() || p.means(d.Kind).resumable()
	if d.moves() {
		d.Undo, p.state.Rotation = p.takesOver(&d)
	}
	if d.Deadline.IsZero() {
		d.Deadline = now.Add(p.time(d.Kind))
	}
	if d.Kind == StepReset || d.Kind == StepReboot {
		p.charge(now, &d, served)
	}
	if len(served) > 0 {
		p.acted(now, d.Kind)
	}
	for _, i := range served {
		d.Incidents = append(d.Incidents, i.Verdict.ID)
		i.ForIdle = false
		i.mark(now, d.Kind, UnderWay)
	}
	p.state.Deed, p.unsaved = &underway{Deed: d}, d.ID
}

// time is how long a deed may take.
func (p *Plan) time(k StepKind) time.Duration {
	switch k {
	case StepReset:
		return p.policy.Reset.Deadline
	case StepReboot:
		return p.policy.Reboot.Deadline
	case StepRestart:
		return p.policy.Restart.Deadline
	}
	return p.policy.Drain.Deadline
}

// finish takes the deed off, and draws the conclusions from its end.
func (p *Plan) finish(now time.Time, o Outcome) {
	d := p.state.Deed
	switch {
	case d.Kind == StepReboot && (o.Result == Succeeded || o.Result == Undecided || o.Result == Aborted):
		d.Watched = true // only another boot is the proof
	case d.Kind == StepReboot:
		p.rebootFailed(now, p.conclude(), o)
	case d.Kind == StepReset:
		p.resetOver(now, p.conclude(), o)
	case d.Kind == StepDiag:
		p.diagOver(now, p.conclude(), o)
	case d.Kind == StepRestart:
		p.restartOver(now, p.conclude(), o)
	default:
		p.drainOver(now, p.conclude(), o)
	}
}

// conclude ends the deed, but for what it has still to put back.
func (p *Plan) conclude() *Deed {
	d := p.state.Deed
	p.state.Deed, p.unsaved = nil, ""
	over := d.Deed
	p.keep(d)
	return &over
}

// expire ends a deed whose deadline has passed, or whose agent has died. That a
// reboot has not come can only be said once the running boot is known.
func (p *Plan) expire(now time.Time) {
	d := p.state.Deed
	switch {
	case d == nil || d.Undoing:
	case d.Watched && (d.Kind == StepReset || d.Kind == StepDiag):
		p.finish(now, Outcome{Deed: d.ID, Result: Undecided, Text: "the agent died meanwhile"})
	case now.Before(d.Deadline.Add(grace)) || d.Kind == StepReboot && !p.booted:
	default:
		p.finish(now, Outcome{Deed: d.ID, Result: Unsuccessful, Text: "not done by its deadline"})
	}
}

// callOff ends a deed that nobody wants, or that is wanted later, and marks its steps
// so.
func (p *Plan) callOff(now time.Time, then StepStatus) {
	d := p.conclude()
	if d.Kind == StepRestart {
		p.uncount(d)
	}
	for _, i := range p.served(d) {
		if s := i.step(d.Kind); s != nil && s.Status == UnderWay {
			s.Status, s.Since = then, now
		}
	}
	p.say(now, d, "Normal", camel(string(d.Kind))+"CalledOff", fmt.Sprintf("%s of %s called off", d.Kind, d.where()))
}

// served gives the open incidents that a deed was for.
func (p *Plan) served(d *Deed) []*Incident {
	var is []*Incident
	for _, id := range d.Incidents {
		if i := p.find(id); i != nil {
			is = append(is, i)
		}
	}
	return is
}

// doing says whether a deed of a kind is under way for an incident.
func (p *Plan) doing(i *Incident, ks ...StepKind) bool {
	d := p.state.Deed
	return d != nil && !d.Undoing && slices.Contains(ks, d.Kind) && slices.Contains(d.Incidents, i.Verdict.ID)
}

// inRepair says whether an incident's repair is under way, or has just been.
func (p *Plan) inRepair(now time.Time, i *Incident) bool {
	return p.doing(i, StepReset, StepReboot) || now.Before(i.Settling)
}

// bound says whether something is under way that cannot be called off, and after
// which the node must not be in service: GPUs are reset, or the host goes down.
func (p *Plan) bound() bool {
	d := p.state.Deed
	return d != nil && !d.Undoing && (d.Kind == StepReset || d.Kind == StepReboot) && !d.Resumable
}

// byRank gives incidents, the worst first.
func (p *Plan) byRank(is []*Incident) []*Incident {
	return slices.DeleteFunc(p.ranked(), func(i *Incident) bool { return !slices.Contains(is, i) })
}

// unavailable takes in that there is nobody here to do a thing: it is asked of
// others.
func (p *Plan) unavailable(now time.Time, d *Deed, o Outcome) {
	for _, i := range p.served(d) {
		i.mark(now, d.Kind, Withdrawn)
		if !slices.Contains(i.Declined, d.Kind) {
			i.Declined = append(i.Declined, d.Kind)
		}
	}
	p.say(now, d, "Warning", camel(string(d.Kind))+"Unavailable", fmt.Sprintf("there is nobody here for the %s: %s", d.Kind, o.Text))
	for _, i := range p.served(d) {
		p.ask(now, i)
		i.because(d.Kind, o.Text)
	}
}

// union gives the devices of all lists, sorted, each once.
func union(lists ...[]fault.Device) []fault.Device {
	all := []fault.Device{}
	for _, ds := range lists {
		for _, d := range ds {
			if !slices.ContainsFunc(all, func(o fault.Device) bool { return same(o, d) }) {
				all = append(all, d)
			}
		}
	}
	slices.SortFunc(all, fault.Device.Compare)
	return all
}

// same says whether two devices are one. The UUID says so; the address does where
// one of the two UUIDs was never learnt.
func same(a, b fault.Device) bool {
	if a.UUID != "" && b.UUID != "" {
		return a.UUID == b.UUID
	}
	return a.PCI == b.PCI
}
