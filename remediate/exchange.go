package remediate

import (
	"fmt"
	"slices"
	"time"

	"github.com/gpuhealthd/gpuhealthd/fault"
)

// Another part has no fault of the one before, by the judge, and has shown nothing
// yet: it is diagnosed as after any repair, whoever put it there, before the node
// serves again.

// exchanged sees to the incidents whose part was replaced and of which the judge has
// nothing more to say.
func (p *Plan) exchanged(now time.Time) {
	for _, i := range slices.Clone(p.state.Open) {
		switch gpus, other := p.present(i.Verdict.GPUs); {
		case !other:
		case i.Over != nil && p.tests(i):
			p.exchange(now, i, *i.Over, gpus)
		case i.Over != nil && i.Replacement != nil:
			i.Replacement = nil
			p.clear(now, i)
		case i.State == Probation && i.Verdict.Closed && p.tests(i):
			p.exchange(now, i, i.Verdict, gpus)
		}
	}
}

// tests says whether the part that was put in for an incident is diagnosed here.
func (p *Plan) tests(i *Incident) bool { return i.holds() && !i.Adopted && p.ours(i, StepDiag) }

// exchange has the GPUs diagnosed that sit now where those of an incident were; last
// is the judge's last word on it. What was tried on the ones before counts for them.
func (p *Plan) exchange(now time.Time, i *Incident, last fault.Verdict, gpus []fault.Device) {
	before := i.Verdict.GPUs
	last.GPUs = gpus
	last.Affected, _ = p.present(last.Affected)
	i.Verdict.GPUs, i.Verdict.Affected = last.GPUs, last.Affected
	i.Level, i.Over, i.Replacement, i.Failing = p.policy.Diag.Level, nil, nil, false
	i.SkipReset, i.Refusals, i.Refusers, i.Vain, i.Pause = false, 0, nil, 0, time.Time{}
	p.announce(now, Event{Key: fmt.Sprintf("%s/PartReplaced/%s", i.Verdict.ID, devices(gpus)), Type: "Normal", Reason: "PartReplaced",
		Message: fmt.Sprintf("%s is now where %s was, and is diagnosed at level %d (incident %s)", devices(gpus), devices(before), i.Level, i.Verdict.ID)})
	p.await(now, i, last)
}

// present gives the GPUs that sit at the addresses of some others now, and says
// whether any of them is another.
func (p *Plan) present(ds []fault.Device) (now []fault.Device, other bool) {
	for _, d := range ds {
		at := slices.IndexFunc(p.sources.GPUs, func(g fault.Device) bool { return g.PCI == d.PCI && g.UUID != "" && d.UUID != "" && g.UUID != d.UUID })
		if at >= 0 {
			d, other = p.sources.GPUs[at], true
		}
		now = append(now, d)
	}
	return now, other
}
