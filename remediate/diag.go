package remediate

import (
	"fmt"
	"slices"
	"time"

	"github.com/gpuhealthd/gpuhealthd/fault"
)

// A diagnosis is the last word on a repair: a fault that the judge holds to be over
// is on probation only once DCGM has found nothing either. It also is what some
// faults ask for in the first place, and evidence for a replacement.
//
// It has no time of its own to wait for: it is begun when all other repairs rest,
// on GPUs that are known to be free, and is called off for whatever wants them.

// evidenceLevel is that of a diagnosis for somebody who replaces the part.
const evidenceLevel = 3

// wantsDiag gives the level of the diagnosis that an incident wants now, 0 for none.
func (p *Plan) wantsDiag(now time.Time, i *Incident) int {
	s := i.step(StepDiag)
	switch {
	case s == nil || !s.Status.waits() || s.Status == Blocked || s.Status == Requested || i.Released || i.Adopted || !p.ours(i, StepDiag),
		p.inRepair(now, i), now.Before(i.Pause):
		return 0
	case i.Replacement != nil:
		return evidenceLevel
	case i.awaits(), i.standing() && max(i.Verdict.Action, i.Verdict.Later) == fault.Diag:
		return max(i.Level, p.policy.Diag.Level)
	}
	return 0
}

// diagScope gives the GPUs that are diagnosed for an incident: those of the whole
// node where it names none.
func (p *Plan) diagScope(i *Incident) []fault.Device {
	ds := i.Verdict.GPUs
	if len(ds) == 0 {
		ds = p.sources.GPUs
	}
	named := make([]fault.Device, len(ds))
	for n, d := range ds {
		named[n] = fault.Device{PCI: d.PCI, UUID: p.uuid(d)}
	}
	return union(named)
}

// nextDiag gives the one diagnosis of all GPUs that need one and are known to be
// free, nil for none, and those that it serves.
func (p *Plan) nextDiag(now time.Time) (*Deed, []*Incident) {
	d := &Deed{Kind: StepDiag}
	var served []*Incident
	for _, i := range p.state.Open {
		level := p.wantsDiag(now, i)
		since, closed := p.cordoned(now, i)
		if level > 0 && closed && p.freeToDiagnose(now, p.diagScope(i), later(since, i.Due)) && p.lets(now, i, StepDiag) {
			d.GPUs, d.Level = union(d.GPUs, p.diagScope(i)), max(d.Level, level)
			served = append(served, i)
		}
	}
	p.askedToo(now, d)
	if len(d.GPUs) == 0 {
		return nil, nil
	}
	return d, served
}

// diagnose begins a diagnosis where one is due, and calls off the one under way
// where its GPUs are wanted, or nobody wants to know any more.
func (p *Plan) diagnose(now time.Time) {
	if d := p.state.Deed; d != nil && d.Kind == StepDiag && !d.Undoing && !d.Watched {
		p.interrupt(now, d)
	}
	if p.state.Deed != nil || p.sources.Store != "" || p.urgent(now) || p.imminent(now) {
		return
	}
	next, served := p.nextDiag(now)
	if next == nil {
		return
	}
	next.Deadline = now.Add(p.policy.Diag.deadline(next.Level))
	p.begin(now, *next, served)
	d := &p.state.Deed.Deed
	if a := p.state.Asking; a != nil && d.Level >= a.Level && within(a.GPUs, d.GPUs) {
		a.Deed = d.ID
	}
	p.say(now, d, "Normal", startReason(StepDiag), fmt.Sprintf("diagnosis of level %d of %s begun", d.Level, d.where()))
}

// interrupt calls off the diagnosis under way where it may not go on.
func (p *Plan) interrupt(now time.Time, d *underway) {
	hs := p.holders(d.GPUs)
	switch {
	case p.occupied != nil && p.occupied.At.After(d.Began) && len(hs) > 0:
		p.stopDiag(now, p.whoHolds(d.GPUs), true)
	case now.Sub(later(p.looked, d.Began)) > max(p.policy.Unreachable, stale):
		p.stopDiag(now, "it has not been known for too long who holds the GPUs", true)
	case !p.asked(d.ID) && !slices.ContainsFunc(p.served(&d.Deed), (*Incident).wantsToKnow):
		p.stopDiag(now, "nobody wants to know any more", false)
	}
}

// wantsToKnow says whether an incident still wants the answer of a diagnosis.
func (i *Incident) wantsToKnow() bool { return i.standing() || i.awaits() }

// urgent says whether a drain, reset or reboot is due, which waits for no diagnosis.
func (p *Plan) urgent(now time.Time) bool {
	if !p.policy.Repairs() {
		return false
	}
	drain, _ := p.nextDrain(now)
	reset, _ := p.nextReset(now)
	reboot, _ := p.nextReboot(now)
	return drain != nil || reset != nil || reboot != nil
}

// imminent says whether another repair is on its way, or has just been: one
// diagnosis then serves all.
func (p *Plan) imminent(now time.Time) bool {
	return p.policy.Repairs() && slices.ContainsFunc(p.live(), func(i *Incident) bool {
		rung := p.rung(now, i)
		s := i.step(rung)
		return p.inRepair(now, i) || i.holds() && i.Verdict.Drain == fault.DrainNow && s != nil && s.Status == Planned && rung != StepReplace
	})
}

// stopDiag calls the diagnosis off. One that met work counts as begun in vain.
func (p *Plan) stopDiag(now time.Time, why string, counts bool) {
	d := p.conclude()
	p.say(now, d, "Warning", "DiagAborted", fmt.Sprintf("diagnosis of %s called off: %s", d.where(), why))
	p.withoutReport(d, CheckAborted, why)
	for _, i := range p.served(d) {
		if counts {
			p.unanswered(now, i, why)
		} else if s := i.step(StepDiag); s.Status == UnderWay {
			i.mark(now, StepDiag, Planned)
		}
	}
	p.answer(now, d, Outcome{Deed: d.ID, Result: Aborted, Text: why})
}
