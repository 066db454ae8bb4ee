package remediate

import "time"

// retryMissing is when a diagnosis is tried again that there was nobody for: dcgmi may
// have been installed since. An agent that starts tries at once.
const retryMissing = time.Hour

// retryAtStart has an agent that starts try again what the one before had nobody for.
func (p *Plan) retryAtStart() {
	for _, i := range p.state.Open {
		if s := i.step(StepDiag); s != nil && !i.Retry.IsZero() {
			i.Retry = s.Since
		}
	}
}

// retry tries the diagnoses again that there was nobody for.
func (p *Plan) retry(now time.Time) {
	for _, i := range p.state.Open {
		s := i.step(StepDiag)
		if s == nil || i.Retry.IsZero() || now.Before(i.Retry) {
			continue
		}
		if i.Retry = (time.Time{}); s.Status == Blocked {
			why := s.Why
			i.mark(now, StepDiag, Planned)
			i.because(StepDiag, why)
			i.Due = now
		}
	}
}

// unblock ends the wait for a person where a diagnosis that somebody else wanted has
// shown what was asked for.
func (p *Plan) unblock(now time.Time, d *Deed, o Outcome) {
	for _, i := range p.ranked() {
		s := i.step(StepDiag)
		if s == nil || s.Status != Blocked || max(i.Level, p.policy.Diag.Level) > d.Level || !within(p.diagScope(i), d.GPUs) {
			continue
		}
		if check, _, _ := o.Of(p.diagScope(i)); check == CheckPassed {
			i.Retry = time.Time{}
			p.passed(now, i)
		}
	}
}
