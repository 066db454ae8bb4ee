package remediate

import (
	"slices"
	"time"

	"github.com/gpuhealthd/gpuhealthd/fault"
)

// The diagnoses in the world of the model test.

// ask lets a person ask for a diagnosis, or take that back.
func (w *world) ask() {
	if w.rng.IntN(4) == 0 {
		if _, err := w.plan.Cancel(w.now); err == nil && w.plan.Asking() != nil {
			w.fail("what was cancelled is asked for still")
		}
		return
	}
	if _, err := w.plan.Diagnose(w.now, ByHand, 1+w.rng.IntN(3), nil); err == nil && w.policy.Diag.Mode == MeansOff {
		w.fail("a diagnosis is asked for, and there is nobody to run it")
	}
}

// diagnosed ends the diagnosis of the moment.
func (w *world) diagnosed(d Deed) {
	o := Outcome{Deed: d.ID, Result: pick(w, Succeeded, Succeeded, Succeeded, Unavailable, Unsuccessful), Text: "as it happens"}
	if o.Result == Succeeded {
		for _, g := range d.GPUs {
			o.Checked = append(o.Checked, Checked{GPU: g.UUID, Check: pick(w, CheckPassed, CheckPassed, CheckPassed, CheckFailed, CheckDoubtful, CheckNotRun, CheckAborted),
				Hint: pick(w, fault.None, fault.Reset, fault.Replace)})
		}
	}
	w.past = append(w.past, d.ID+" "+string(o.Result))
	for _, i := range w.plan.state.Open {
		served, s := slices.Contains(d.Incidents, i.Verdict.ID), i.step(StepDiag)
		deep := s != nil && s.Status == Blocked && d.Level >= max(i.Level, w.policy.Diag.Level)
		if check, _, _ := o.Of(w.plan.diagScope(i)); served || deep && check == CheckPassed {
			w.confirmed[i.Verdict.ID] = check == CheckPassed && o.Result == Succeeded
		}
	}
	w.hand = hand{}
	w.plan.Done(w.now, o)
	w.settle()
	w.cure()
}

// checkDiag looks at what must hold of diagnoses.
func (w *world) checkDiag() {
	d := w.plan.state.Deed
	if d != nil && d.Kind == StepDiag && !d.Undoing {
		if o := w.heard; o != nil && o.At.After(d.Began) && slices.ContainsFunc(o.Holders, func(h Holder) bool {
			return slices.ContainsFunc(d.GPUs, func(g fault.Device) bool { return g.UUID == h.GPU })
		}) && !d.Watched {
			w.fail(d.ID + " goes on under a holder")
		}
		if !d.Watched && w.store == "" && w.plan.urgent(w.now) {
			w.fail(d.ID + " holds up another repair")
		}
		if w.policy.Diag.Mode == MeansOff {
			w.fail(d.ID + " is run, and there is nobody to run it")
		}
	}
	if a := w.plan.Asking(); a != nil && a.Deed == "" && !w.now.Before(a.Until.Add(time.Second)) {
		w.fail(a.ID + " is waited for too long")
	}
	for _, i := range w.plan.state.Open {
		strict := w.policy.Diag.Mode == MeansCommand && w.policy.Diag.Unproven == DiagHold && !i.Adopted && !i.Released
		if strict && i.State == Probation && i.Verdict.Closed && i.step(StepDiag) != nil && i.repaired() && i.Replacement == nil && !w.confirmed[i.Verdict.ID] {
			w.fail(i.Verdict.ID + " is on probation, and no diagnosis has passed")
		}
		if i.Over != nil && i.State == Probation {
			w.fail(i.Verdict.ID + " is on probation, and waits for a diagnosis")
		}
	}
}
