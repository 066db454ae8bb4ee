package remediate

import (
	"slices"
	"time"

	"github.com/gpuhealthd/gpuhealthd/fault"
)

// requestable are the steps that others are asked for.
var requestable = [...]StepKind{StepDrain, StepReset, StepReboot, StepReplace, StepDiag}

// share settles which incident asks for what: they stand on one node, and a
// repair that one asks for may serve another. It is called whenever an incident
// has come, changed or gone.
func (p *Plan) share(now time.Time) {
	for _, i := range p.state.Open {
		if i.standing() && !i.Adopted {
			p.ask(now, i)
		}
	}
}

// standing says whether an incident may ask for anything.
func (i *Incident) standing() bool {
	return !i.Released && !i.Verdict.Closed && i.State != Probation
}

// ask records what others are asked for on an incident's behalf.
func (p *Plan) ask(now time.Time, i *Incident) {
	v := i.Verdict
	wanted := requests(v)
	for _, k := range requestable {
		switch {
		case k == StepReset && slices.Contains(wanted, k) && p.covered(i):
			i.want(now, k, Covered)
		case slices.Contains(wanted, k):
			if status := p.status(v); i.want(now, k, status) && status != Held {
				p.unwritten = append(p.unwritten, request{v.ID, k})
				p.tell(now, v, "Normal", requestReason(k), requestText(k, v))
			}
		case i.step(k) != nil:
			i.want(now, k, Withdrawn)
		}
	}
}

// covered says whether the reset of an incident comes with what another one asks
// for: a reboot of the node, or the reset of the same GPU.
func (p *Plan) covered(i *Incident) bool {
	return slices.ContainsFunc(p.state.Open, func(o *Incident) bool {
		if o == i || !o.standing() {
			return false
		}
		wanted := requests(o.Verdict)
		return slices.Contains(wanted, StepReboot) ||
			slices.Contains(wanted, StepReset) && within(i.Verdict.GPUs, o.Verdict.GPUs) && p.before(o, i)
	})
}

// within says whether all of a, and at least one, is in b.
func within(a, b []fault.Device) bool {
	return len(a) > 0 && !slices.ContainsFunc(a, func(d fault.Device) bool { return !overlap([]fault.Device{d}, b) })
}

// before says whose reset is asked for where two want the same: the more urgent,
// then the one with more GPUs, then the earlier.
func (p *Plan) before(a, b *Incident) bool {
	switch x, y := a.Verdict, b.Verdict; {
	case x.Drain != y.Drain:
		return x.Drain > y.Drain
	case len(x.GPUs) != len(y.GPUs):
		return len(x.GPUs) > len(y.GPUs)
	}
	return slices.Index(p.state.Open, a) < slices.Index(p.state.Open, b)
}
