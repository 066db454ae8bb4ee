package remediate

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/gpuhealthd/gpuhealthd/fault"
)

// A diagnosis is the last word on a repair: a fault that the judge holds to be over
// is on probation only once DCGM has found nothing either. It also is what some
// faults ask for in the first place, and evidence for a replacement.
//
// It has no time of its own to wait for: it is begun when all other repairs rest,
// on GPUs that are known to be free, and is called off for whatever wants them.

// maxDiags is how often a diagnosis is begun for an incident without coming to an
// answer: work may come in between, and an agent may die.
const maxDiags = 3

// evidenceLevel is that of a diagnosis for somebody who replaces the part.
const evidenceLevel = 3

// Check is what a diagnosis says of a GPU.
type Check string

// The checks, in the order in which they outrank each other.
const (
	CheckPassed Check = "pass"
	// CheckNotRun: no hardware was tested. It says nothing of the GPU.
	CheckNotRun Check = "not-run"
	// CheckAborted: called off. It says nothing of the GPU either.
	CheckAborted Check = "aborted"
	// CheckDoubtful: it ran, and proves neither.
	CheckDoubtful Check = "doubtful"
	CheckFailed   Check = "fail"
)

// rank orders the checks by strength.
func (c Check) rank() int {
	return slices.Index([]Check{CheckPassed, CheckNotRun, CheckAborted, CheckDoubtful, CheckFailed}, c)
}

// Checked is the answer for one GPU.
type Checked struct {
	// GPU is a UUID.
	GPU   string `json:"gpu"`
	Check Check  `json:"check"`
	// Hint is the strongest action that its errors ask for.
	Hint fault.Action `json:"hint,omitempty"`
	// Why says why it is not pass.
	Why string `json:"why,omitempty"`
}

// Unproven says what becomes of a GPU of which no diagnosis can say that it is in
// order.
type Unproven string

// What may become of it.
const (
	// DiagHold: it stays out of service until a person decides.
	DiagHold Unproven = "hold"
	// DiagAccept: that the driver finds nothing is enough.
	DiagAccept Unproven = "accept"
)

// DiagPolicy is how GPUs are diagnosed.
type DiagPolicy struct {
	// Mode is MeansOff or MeansCommand.
	Mode Means
	// Level is the least, where any is run: 2 or 3.
	Level int
	// Level2 and Level3 are the deadlines of those levels, all that is waited for
	// included.
	Level2, Level3 time.Duration
	Unproven       Unproven
	Schedule       Schedule
}

// deadline is that of a level.
func (d DiagPolicy) deadline(level int) time.Duration {
	if level >= 3 {
		return d.Level3
	}
	return d.Level2
}

// clearing says whether an incident that the judge holds to be over has to be
// diagnosed before it goes on probation.
func (p *Plan) clearing(i *Incident) bool {
	s := i.step(StepDiag)
	return i.holds() && i.State != Probation && !i.Adopted && i.Replacement == nil && i.Level > 0 && p.ours(i, StepDiag) &&
		(s == nil || s.Status != Done) && (i.repaired() || max(i.Verdict.Action, i.Verdict.Later) == fault.Diag)
}

// repaired says whether there has been a repair, by whomever. What has gone by
// itself, under the work that goes on, is not diagnosed.
func (i *Incident) repaired() bool {
	return slices.ContainsFunc(i.Steps, func(s Step) bool {
		return (s.Kind == StepReset || s.Kind == StepReboot) && (s.Status.over() || s.Status == UnderWay || s.Status == Requested || s.Status == Covered)
	})
}

// await keeps the judge's last word on an incident until it is diagnosed.
func (p *Plan) await(now time.Time, i *Incident, last fault.Verdict) {
	first := i.Over == nil
	if i.Over = &last; !first {
		return
	}
	i.withdraw(now)
	i.Settling, i.ForIdle, i.Due = time.Time{}, false, now
	i.mark(now, StepDiag, Planned)
	p.place(now, i)
}

// awaits says whether an incident waits for its diagnosis alone.
func (i *Incident) awaits() bool { return i.Over != nil && !i.Failing }

// relent lets the fault be over that no diagnosis has to confirm any more.
func (p *Plan) relent(now time.Time) {
	for _, i := range slices.Clone(p.state.Open) {
		if i.Over != nil && !p.ours(i, StepDiag) {
			p.clear(now, i)
		}
	}
}

// clear takes the judge's word for the end of the fault.
func (p *Plan) clear(now time.Time, i *Incident) {
	i.Verdict, i.Over, i.Failing = *i.Over, nil, false
	p.over(now, i)
}

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
		if level > 0 && closed && p.free(now, p.diagScope(i), later(since, i.Due)) {
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
		p.stopDiag(now, "held by "+names(hs), true)
	case now.Sub(later(p.looked, d.Began)) > max(p.policy.Unreachable, stale):
		p.stopDiag(now, "it has not been known for too long who holds the GPUs", true)
	case !p.asked(d.ID) && !slices.ContainsFunc(p.served(&d.Deed), func(i *Incident) bool { return i.standing() || i.awaits() }):
		p.stopDiag(now, "nobody wants to know any more", false)
	}
}

// urgent says whether a drain, reset or reboot is due, which waits for no diagnosis.
func (p *Plan) urgent(now time.Time) bool {
	if p.policy.Mode != Repair {
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
	return p.policy.Mode == Repair && slices.ContainsFunc(p.live(), func(i *Incident) bool {
		rung := p.rung(now, i)
		s := i.step(rung)
		return p.inRepair(now, i) || i.holds() && i.Verdict.Drain == fault.DrainNow && s != nil && s.Status == Planned && rung != StepReplace
	})
}

// stopDiag calls the diagnosis off. One that met work counts as begun in vain.
func (p *Plan) stopDiag(now time.Time, why string, counts bool) {
	d := p.conclude()
	p.say(now, d, "Warning", "DiagAborted", fmt.Sprintf("diagnosis of %s called off: %s", d.where(), why))
	for _, i := range p.served(d) {
		if counts {
			p.unanswered(now, i, why)
		} else if s := i.step(StepDiag); s.Status == UnderWay {
			i.mark(now, StepDiag, Planned)
		}
	}
	p.answer(now, d, Outcome{Deed: d.ID, Result: Aborted, Text: why})
}

// diagOver takes in how a diagnosis ended.
func (p *Plan) diagOver(now time.Time, d *Deed, o Outcome) {
	p.record(now, d, o)
	for _, i := range p.served(d) {
		check, hint, why := o.Of(p.diagScope(i))
		if i.Replacement != nil {
			i.Replacement.Checked = o.Checked
		}
		switch {
		case o.Result == Unavailable:
			p.withoutProof(now, i, o.Text)
		case check == CheckPassed:
			p.passed(now, i)
		case check == CheckFailed:
			p.condemned(now, i, hint)
		case check == CheckDoubtful:
			p.withoutProof(now, i, why)
		default:
			p.unanswered(now, i, why)
		}
	}
	kind, reason := "Normal", "DiagPassed"
	check, _, why := o.Of(d.GPUs)
	if check != CheckPassed {
		kind, reason = "Warning", "Diag"+camel(string(check))
	}
	p.say(now, d, kind, reason, strings.TrimSuffix(fmt.Sprintf("diagnosis of level %d of %s: %s: %s", d.Level, d.where(), check, why), ": "))
	p.answer(now, d, o)
}

// Of gives the worst that an outcome says of some GPUs. One that it does not name
// was not diagnosed.
func (o Outcome) Of(ds []fault.Device) (worst Check, hint fault.Action, why string) {
	worst = CheckPassed
	for _, d := range ds {
		c := Checked{Check: CheckNotRun, Why: o.Text}
		if n := slices.IndexFunc(o.Checked, func(c Checked) bool { return c.GPU == d.UUID }); n >= 0 {
			c = o.Checked[n]
		}
		if c.Check.rank() > worst.rank() {
			worst, why = c.Check, c.Why
		}
		if c.Check == CheckFailed {
			hint = max(hint, c.Hint)
		}
	}
	return worst, hint, why
}

// passed takes in that nothing was found.
func (p *Plan) passed(now time.Time, i *Incident) {
	i.mark(now, StepDiag, Done)
	if i.Vain = 0; i.awaits() {
		p.clear(now, i)
		return
	}
	p.giveBack(now, i)
}

// giveBack lets the node serve again that was closed for the diagnosis alone.
func (p *Plan) giveBack(now time.Time, i *Incident) {
	if i.Over == nil && i.Replacement == nil {
		p.disclaim(now, i)
	}
}

// condemned takes in that a GPU of an incident was found at fault: the part has to
// be replaced where its errors say so or nothing else is left to be done, else the
// next repair is tried.
func (p *Plan) condemned(now time.Time, i *Incident, hint fault.Action) {
	i.mark(now, StepDiag, Fruitless)
	switch {
	case i.Replacement != nil:
		return
	case i.awaits():
		i.Failing = true
	}
	if rung := p.rung(now, i); hint == fault.Replace || rung == "" || rung == StepReplace {
		p.fail(now, i)
		i.want(now, StepCordon, Pending)
	}
	p.place(now, i)
	p.ask(now, i)
}

// unanswered takes in that a diagnosis was begun and came to no answer. It is begun
// again, but not for ever.
func (p *Plan) unanswered(now time.Time, i *Incident, why string) {
	if i.Vain++; i.Vain >= maxDiags {
		p.withoutProof(now, i, why)
		return
	}
	i.mark(now, StepDiag, Planned)
	p.giveBack(now, i)
	i.Pause = now.Add(p.policy.Unreachable)
}

// withoutProof decides what becomes of an incident that no diagnosis can be had for.
func (p *Plan) withoutProof(now time.Time, i *Incident, why string) {
	i.Vain = 0
	switch {
	case i.Replacement != nil:
		i.mark(now, StepDiag, Fruitless)
	case p.policy.Diag.Unproven == DiagAccept:
		p.tell(now, i.Verdict, "Warning", "DiagAccepted", fmt.Sprintf("no diagnosis says that %s is over, and by repair.diag.unproven that is accepted: %s (incident %s)", i.Verdict.Class, why, i.Verdict.ID))
		p.passed(now, i)
	default:
		i.mark(now, StepDiag, Blocked)
		p.giveBack(now, i)
		p.tell(now, i.Verdict, "Warning", "DiagUnproven", fmt.Sprintf("no diagnosis says that %s is over, and the node waits for a person: %s (incident %s)", i.Verdict.Class, why, i.Verdict.ID))
	}
}

// renew has the diagnoses made anew that were before a repair.
func (p *Plan) renew(now time.Time, i *Incident) {
	i.Failing, i.Vain, i.Due = false, 0, now
	if s := i.step(StepDiag); s != nil && p.ours(i, StepDiag) && (s.Status.over() || s.Status == Blocked) {
		i.mark(now, StepDiag, Planned)
	}
}

// exchanged ends the incidents whose part was replaced and of which the judge has
// nothing more to say.
func (p *Plan) exchanged(now time.Time) {
	for _, i := range slices.Clone(p.state.Open) {
		other := func(d fault.Device) bool {
			return d.UUID != "" && slices.ContainsFunc(p.sources.GPUs, func(g fault.Device) bool { return g.PCI == d.PCI && g.UUID != "" && g.UUID != d.UUID })
		}
		if i.Over != nil && i.Replacement != nil && slices.ContainsFunc(i.Verdict.GPUs, other) {
			i.Replacement = nil
			p.clear(now, i)
		}
	}
}
