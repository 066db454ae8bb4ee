package fault

import (
	"slices"
	"time"

	"github.com/gpuhealthd/gpuhealthd/ecc"
)

// cure is the evidence that ends the episode. One whose line or arbiter asked
// for more than its class does ends as what was asked for: a reset, and not
// that it stays quiet.
func (e *episode) cure() Cure {
	if _, numbered := e.Class.Code(); e.rule.Cure != CureQuiet || !e.rule.Hardware || !numbered {
		return e.rule.Cure
	}
	if e.Asked || e.asksReset() {
		return CureReset
	}
	return CureQuiet
}

// asksReset says whether a line of the episode asks for a reset by its text.
func (e *episode) asksReset() bool {
	m := ecc.FromBits(e.Memory)
	contained := e.Class == XID94 && (m.Has(ecc.ResetAsked) || m.Has(ecc.DrainAsked))
	return contained || e.Link5 != nil && e.Link5.Action >= Reset
}

// Refined gives the rule as one verdict has refined it: what is done about that
// fault, and what ends it.
func (r Rule) Refined(v Verdict) Rule {
	r.Action, r.Later, r.Radius, r.Drain, r.Diag, r.Hard = v.Action, v.Later, v.Radius, v.Drain, v.Diag, v.Hard
	if v.Action >= Diag && r.Cure == CureQuiet && r.Hardware {
		r.Cure, r.Quiet = CureReset, 0
	}
	return r
}

// byBoot says whether a boot of the host is the cure, as far as can be known
// without asking the driver.
func (c Cure) byBoot() bool {
	switch c {
	case CureReset, CureAnswers, CureAnswersOrReset, CureRemapped, CureRuns, CureManaged:
		return true
	case CurePerson, CureCalm, CureSteady, CureQuiet, CureProgress, CureAnew:
	}
	return false
}

// byReset says whether a reset of the GPU is the cure, as far as can be known
// before the driver is asked again.
func (c Cure) byReset() bool {
	return c == CureReset || c == CureAnswersOrReset || c == CureRemapped
}

// repaired takes the reset of GPUs for the cure of what a reset cures. What the
// driver says next outranks that: a row that is still pending, or a recovery
// action that it still asks for.
func (j *Judge) repaired(now time.Time, r Repaired) {
	for _, g := range r.GPUs {
		j.wasReset(now, g.PCI)
		if d := j.devices[g.PCI]; d != nil {
			d.Arbiter = -1 // what the driver wanted was wanted of the GPU as it was
		}
	}
	for _, e := range j.open {
		reset := slices.ContainsFunc(r.GPUs, func(d Device) bool { return d.PCI == e.PCI })
		if reset && e.cure().byReset() && !e.Class.IsSXid() && e.Cured.IsZero() {
			e.Cured, e.Clean, e.Repaired = now, 0, true
		}
	}
}

// end says what ended the episode.
func (j *Judge) end(e *episode) string {
	switch {
	case e.Replaced:
		return "another GPU sits there"
	case e.How != "":
		return e.How
	case e.Released:
		return "released by a person, and quiet since"
	case e.Rebooted && j.cfg.BootCures && e.cure().byBoot():
		return "the host was rebooted"
	}
	return e.cure().String()
}
