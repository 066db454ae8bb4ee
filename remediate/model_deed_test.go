package remediate

import (
	"fmt"
	"slices"
	"time"

	"github.com/gpuhealthd/gpuhealthd/fault"
)

// hand is who does the deed of the moment, in the world of the model test.
type hand struct {
	deed Deed
	// owing: it has changed something that has to be put back.
	owing bool
}

// deedLog is what has been done so far, and what may therefore not be done.
type deedLog struct {
	w *world
	// begun are the deeds that cannot be begun twice.
	begun map[string]bool
	// tried are the repairs by GPU, as they count against the ladder.
	tried []Attempt
	// shut: the node was closed when the deed was begun, and nobody has opened it.
	shut bool
	known
}

// known is what is known of the whole node since it was closed last: that it was
// emptied, that a drain with force has failed, and when the time of such a one is
// over.
type known struct {
	drained, spent bool
	forced         time.Time
}

func newDeedLog(w *world) deedLog { return deedLog{w: w, begun: map[string]bool{}} }

// opened says that pods may have come since the last drain.
func (l *deedLog) opened() { l.known, l.shut = known{}, false }

// take has the deed of the moment begun, and the one before stopped.
func (w *world) take() {
	d := w.plan.Deed()
	switch {
	case d == nil || d.Undoing:
		w.hand.deed = Deed{}
		return
	case d.ID == w.hand.deed.ID:
		return
	}
	if !d.Resumable && w.log.begun[d.ID] {
		w.fail("begun again: " + d.ID)
	}
	if !w.log.begun[d.ID] {
		w.log.judge(*d)
	}
	w.log.begun[d.ID], w.log.shut = true, w.node.Unschedulable
	if d.Whole && d.Force {
		w.log.forced = d.Deadline
	}
	w.hand = hand{deed: *d}
	w.past = append(w.past, fmt.Sprintf("%s begun at %v: %s of %s, force %v", d.ID, w.now.Unix()-1_800_000_000, d.Kind, d.where(), d.Force))
}

// judge checks that a deed may be begun.
func (l *deedLog) judge(d Deed) {
	for _, g := range d.GPUs {
		if d.Kind != StepDiag && !slices.ContainsFunc(l.w.plan.live(), func(i *Incident) bool { return overlap(i.Verdict.GPUs, []fault.Device{g}) }) {
			l.w.fail(d.ID + " is for a GPU without an open fault")
		}
	}
	switch d.Kind {
	case StepDiag:
		l.vacant(d)
	case StepRestart:
		l.stalled(d)
	case StepReset:
		l.vacant(d)
		for _, g := range d.GPUs {
			l.once(d, g)
		}
	case StepReboot:
		force := l.w.policy.Drain.AtDeadline == Force
		if !force && (!l.drained || !l.unheld()) {
			l.w.fail(d.ID + " is begun on a node that is not empty, and nothing is forced")
		}
		if force && l.w.policy.Drain.Mode != MeansOff && !l.drained && !l.spent && !l.late() && !l.declined(d) {
			l.w.fail(d.ID + " is begun without a drain")
		}
		for _, g := range l.charged(d) {
			l.once(d, g)
		}
	}
}

// late says whether a drain of the whole node with force has had its time.
func (l *deedLog) late() bool { return !l.forced.IsZero() && !l.w.now.Before(l.forced) }

// declined says whether there is nobody to drain for one of the incidents.
func (l *deedLog) declined(d Deed) bool {
	return slices.ContainsFunc(l.w.plan.served(&d), func(i *Incident) bool { return slices.Contains(i.Declined, StepDrain) })
}

// charged gives the GPUs whose own rung was the reboot.
func (l *deedLog) charged(d Deed) []fault.Device {
	var ds []fault.Device
	for _, a := range l.w.plan.state.Attempts {
		if a.Deed == d.ID && a.Kind == StepReboot {
			ds = append(ds, a.GPU)
		}
	}
	if len(ds) == 0 {
		l.w.fail(d.ID + " is counted against no GPU")
	}
	return ds
}

// vacant checks that nobody is known to hold the GPUs of a reset.
func (l *deedLog) vacant(d Deed) {
	o := l.w.heard
	if o == nil || o.Unknown != "" || d.Began.Sub(o.At) > stale {
		l.w.fail(d.ID + " is begun, and who holds the GPUs is unknown")
	}
	for _, h := range o.Holders {
		if slices.ContainsFunc(d.GPUs, func(g fault.Device) bool { return g.UUID == h.GPU }) {
			l.w.fail(d.ID + " is begun under a holder")
		}
	}
}

// unheld says whether nobody is known to hold any GPU.
func (l *deedLog) unheld() bool {
	o := l.w.heard
	return o != nil && o.Unknown == "" && len(o.Holders) == 0
}

// once checks that a GPU has no second repair of a kind within the memory.
func (l *deedLog) once(d Deed, g fault.Device) {
	for _, a := range l.tried {
		if a.GPU == g && a.Kind == d.Kind && l.w.now.Sub(a.At) < l.w.policy.Memory {
			l.w.fail(fmt.Sprintf("%s is the second %s of %s, after %s", d.ID, d.Kind, g, a.Deed))
		}
	}
	l.tried = append(l.tried, Attempt{GPU: g, Kind: d.Kind, At: l.w.now, Deed: d.ID})
}

// work lets the hand go on: it owes, puts back, or ends.
func (w *world) work() {
	if d := w.plan.Deed(); d != nil && d.Undoing && !w.silent {
		w.taken = w.taken && d.Kind != StepRestart
		w.plan.Undone(w.now, d.ID)
		return
	}
	d := w.hand.deed
	if d.ID == "" || w.silent {
		return
	}
	if !w.hand.owing && w.rng.IntN(3) == 0 {
		w.hand.owing = w.plan.Owes(w.now, d.ID, "something")
		w.taken = w.taken || w.hand.owing && d.moves()
		return
	}
	if d.Kind == StepDiag {
		w.diagnosed(d)
		return
	}
	result := pick(w, Succeeded, Succeeded, Succeeded, Unsuccessful, Refused, Unavailable, Aborted)
	w.end(d, result)
}

// end tells the plan how the deed of the moment ended.
func (w *world) end(d Deed, r Result) {
	w.past = append(w.past, fmt.Sprintf("%s %s", d.ID, r))
	if r == Succeeded && d.moves() || w.hand.owing && w.rng.IntN(2) == 0 {
		w.taken = w.taken && !d.moves()
		w.plan.Undone(w.now, d.ID)
	}
	w.hand = hand{}
	if r == Succeeded {
		w.effect(d)
	}
	if (r == Refused || r == Unavailable) && d.Kind == StepReset || r == Unavailable {
		w.log.tried = slices.DeleteFunc(w.log.tried, func(a Attempt) bool { return a.Deed == d.ID })
	}
	if d.Kind == StepDrain && d.Whole && r != Unavailable {
		w.log.drained, w.log.spent = w.log.drained || r == Succeeded, w.log.spent || d.Force
	}
	w.plan.Done(w.now, Outcome{Deed: d.ID, Result: r, Text: "as it happens"})
	w.settle()
	if r == Succeeded && d.Kind == StepReboot {
		w.reboot()
	}
	w.cure()
}

// effect is what a deed does to the world.
func (w *world) effect(d Deed) {
	for n, g := range gpus {
		if d.Kind == StepDrain && (d.Whole || slices.Contains(d.GPUs, g)) {
			w.held[n] = false
		}
	}
	for _, b := range w.faults {
		if b.cure == d.Kind && (d.Kind == StepReboot || within(b.GPUs, d.GPUs)) || b.cure == StepReset && d.Kind == StepReboot {
			b.Count = 1 // cured; the judge has still to see it
		}
	}
}

// cure lets the judge see some of what is cured.
func (w *world) cure() {
	for n := len(w.faults) - 1; n >= 0; n-- {
		if b := w.faults[n]; b.Count > 0 && w.rng.IntN(3) > 0 {
			w.close(n)
		}
	}
}

// finish lets the world answer, and time pass: everything must come to an end, or
// wait for somebody who is named.
func (w *world) finish() {
	w.offline, w.store, w.silent = false, "", w.rng.IntN(4) == 0
	w.sources()
	for n := 0; n < 60 && (n < 3 || !w.rest()); n++ {
		w.pass(10 * time.Minute)
		if !w.silent {
			w.held = [len(gpus)]bool{}
			w.occupy()
			w.pass(5 * time.Second)
			w.occupy()
			w.cure()
		}
		w.work()
		w.settle()
	}
	for _, i := range w.plan.state.Open {
		if !w.rests(i) {
			w.fail(fmt.Sprintf("%s is %s since %v: %s, %+v", i.Verdict.ID, i.State, w.now.Sub(i.Since), i.next(), i.Steps))
		}
	}
	for len(w.faults) > 0 {
		w.close(0)
	}
	w.silent = false
	for n := 0; n < 60 && (n < 20 || len(w.plan.state.Open) > 0); n++ {
		w.pass(w.policy.Probation + 31*time.Minute)
		w.held = [len(gpus)]bool{}
		w.occupy()
		w.work()
		w.settle()
	}
	if slices.ContainsFunc(w.plan.state.Open, func(i *Incident) bool { return i.Adopted || i.Over != nil }) {
		w.uncordon() // what is known of by its mark alone, or proven by nothing, may need a person
		w.pass(w.policy.Probation + time.Minute)
	}
	if n := len(w.plan.state.Open); n > 0 {
		w.fail(fmt.Sprintf("%d incidents never ended", n))
	}
	if w.taken {
		w.fail("somebody is left out of rotation")
	}
	if d := w.plan.Desired(); d.State != Healthy || w.node.Unschedulable != w.foreign || w.plan.state.Deed != nil {
		w.fail(fmt.Sprintf("state %s, cordoned %v, by an administrator %v", d.State, w.node.Unschedulable, w.foreign))
	}
}

// rest says whether all incidents do.
func (w *world) rest() bool {
	return !slices.ContainsFunc(w.plan.state.Open, func(i *Incident) bool { return !w.rests(i) })
}

// rests says whether an incident waits for nobody but a person, or for others who
// were asked; or, where nobody answers, for what is tried again and was told.
func (w *world) rests(i *Incident) bool {
	if i.Released || i.Adopted || i.State == Failed || i.State == Probation {
		return true
	}
	if i.awaits() {
		return w.silent || i.step(StepDiag).Status == Blocked
	}
	wants := max(i.Verdict.Action, i.Verdict.Later)
	if wants < fault.Reset {
		return i.State == Quarantined || i.State == Suspect || i.State == Draining && w.silent
	}
	asked := func(k StepKind) bool {
		s := i.step(k)
		return s != nil && (s.Status == Requested || s.Status == Blocked || s.Status == WhenIdle && !w.plan.ours(i, k))
	}
	if asked(StepRestart) || asked(StepReset) || asked(StepReboot) || asked(StepDrain) {
		return true
	}
	drain := i.step(StepDrain)
	if d := w.plan.Deed(); w.silent && d != nil && d.Undoing {
		return true // nothing goes on before what was changed is put back
	}
	if w.silent {
		return drain != nil && (drain.Status == Overdue || drain.Status == UnderWay && drain.Tries > 1) || i.Verdict.Drain == fault.DrainWhenIdle
	}
	return false
}
