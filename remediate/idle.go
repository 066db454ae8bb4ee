package remediate

import (
	"time"

	"github.com/gpuhealthd/gpuhealthd/fault"
)

// A repair that waits for an idle window is no deed: it waits until its GPUs are
// known to be free. Where the node still serves it is closed first, and that they
// are free has to be seen again: a pod may have come in between.

// claim closes the node for the repairs whose idle window seems to have come, and
// opens it again where it was none.
func (p *Plan) claim(now time.Time) {
	for _, i := range p.live() {
		switch {
		case i.ForIdle && p.lost(now, i):
			p.disclaim(now, i)
		case !i.Claimed && p.sources.Store == "" && p.window(now, i) && p.admits(now, i):
			p.claimFor(now, i)
			i.ForIdle = true
			i.mark(now, StepCordon, Pending)
		}
	}
}

// window says whether the GPUs of a repair that waits seem to be free.
func (p *Plan) window(now time.Time, i *Incident) bool {
	if i.Verdict.Drain != fault.DrainWhenIdle || now.Before(i.Pause) || p.inRepair(now, i) {
		return false
	}
	switch p.rung(now, i) {
	case StepReset:
		return p.wantsReset(now, i) && !p.rebootComes(now, i) && p.freeFor(now, i, time.Time{})
	case StepReboot:
		return p.whole(now, i) && p.ours(i, StepDrain) && p.idle(now, time.Time{})
	}
	return p.wantsDiag(now, i) > 0 && p.freeToDiagnose(now, p.diagScope(i), time.Time{})
}

// lost says whether the idle window of a claimed incident is over, or was not
// seen to be one within Unreachable.
func (p *Plan) lost(now time.Time, i *Incident) bool {
	held := p.holders(p.resetScope(i))
	if p.rung(now, i) == StepReboot {
		held = p.anybody()
	}
	return i.Contained && p.fresh(now, i.Seen) && len(held) > 0 ||
		!now.Before(i.step(StepCordon).Since.Add(p.policy.Unreachable)) || p.rung(now, i) == "" && p.wantsDiag(now, i) == 0
}

// disclaim gives up an idle window, and looks for no other for a while. The node
// serves again, if nothing else keeps it closed.
func (p *Plan) disclaim(now time.Time, i *Incident) {
	i.Pause = now.Add(p.policy.Settle)
	if i.Verdict.Acts() || i.Over != nil {
		return
	}
	i.Claimed, i.Contained, i.ForIdle = false, false, false
	i.mark(now, StepCordon, Withdrawn)
}
