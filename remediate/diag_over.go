package remediate

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/gpuhealthd/gpuhealthd/fault"
)

// maxDiags is how often a diagnosis is begun for an incident without coming to an
// answer: work may come in between, and an agent may die.
const maxDiags = 3

// diagOver takes in how a diagnosis ended.
func (p *Plan) diagOver(now time.Time, d *Deed, o Outcome) {
	p.record(now, d, o)
	if len(o.Checked) == 0 {
		p.withoutReport(d, CheckNotRun, o.Text)
	}
	for _, i := range p.served(d) {
		check, hint, why := o.Of(p.diagScope(i))
		switch {
		case o.Result == Unavailable:
			p.withoutProof(now, i, o.Text)
			i.Retry = now.Add(retryMissing)
		case check == CheckPassed:
			p.passed(now, i)
		case check == CheckFailed:
			p.condemned(now, i, hint)
			i.because(StepDiag, why)
		case check == CheckDoubtful:
			p.withoutProof(now, i, why)
		default:
			p.unanswered(now, i, why)
		}
		if i.Replacement != nil {
			i.Replacement.Checked = p.about(i, o.Checked)
		}
	}
	p.unblock(now, d, o)
	kind, reason := "Normal", "DiagPassed"
	check, _, why := o.Of(d.GPUs)
	if check != CheckPassed {
		kind, reason = "Warning", checkReason(check)
	}
	p.say(now, d, kind, reason, strings.TrimSuffix(fmt.Sprintf("diagnosis of level %d of %s: %s: %s", d.Level, d.where(), check, why), ": "))
	p.answer(now, d, o)
}

// checkReason names the event of an answer that is not pass.
func checkReason(c Check) string { return "Diag" + camel(string(c)) }

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
	i.because(StepDiag, why)
	p.giveBack(now, i)
	i.Pause = now.Add(p.policy.Unreachable)
}

// withoutProof decides what becomes of an incident that no diagnosis can be had for.
func (p *Plan) withoutProof(now time.Time, i *Incident, why string) {
	i.Vain = 0
	switch {
	case i.Replacement != nil:
		i.mark(now, StepDiag, Fruitless)
		i.because(StepDiag, why)
		if had := p.Failures(p.diagScope(i)); had != "" {
			i.because(StepDiag, why+"; it had failed before: "+had)
		}
	case p.policy.Diag.Unproven == DiagAccept:
		p.tell(now, i.Verdict, "Warning", "DiagAccepted", fmt.Sprintf("no diagnosis says that %s is over, and by repair.diag.unproven that is accepted: %s (incident %s)", i.Verdict.Class, why, i.Verdict.ID))
		p.passed(now, i)
	default:
		i.mark(now, StepDiag, Blocked)
		i.because(StepDiag, why)
		p.giveBack(now, i)
		p.tell(now, i.Verdict, "Warning", "DiagUnproven", fmt.Sprintf("no diagnosis says that %s is over, and the node waits for a person: %s (incident %s)", i.Verdict.Class, why, i.Verdict.ID))
	}
}
