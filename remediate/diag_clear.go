package remediate

import (
	"slices"
	"time"

	"github.com/gpuhealthd/gpuhealthd/fault"
)

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

// relent lets the fault be over that no diagnosis has to confirm any more: there is
// none to be had, or the node was never closed for it.
func (p *Plan) relent(now time.Time) {
	for _, i := range slices.Clone(p.state.Open) {
		if i.Over != nil && (!p.ours(i, StepDiag) || !i.holds()) {
			p.clear(now, i)
		}
	}
}

// clear takes the judge's word for the end of the fault.
func (p *Plan) clear(now time.Time, i *Incident) {
	i.Verdict, i.Over, i.Failing = *i.Over, nil, false
	p.over(now, i)
}

// renew has the diagnoses made anew that were before a repair.
func (p *Plan) renew(now time.Time, i *Incident) {
	i.Failing, i.Vain, i.Due = false, 0, now
	if s := i.step(StepDiag); s != nil && p.ours(i, StepDiag) && (s.Status.over() || s.Status == Blocked) {
		i.mark(now, StepDiag, Planned)
	}
}
