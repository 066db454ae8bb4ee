package remediate

import (
	"slices"
	"time"

	"github.com/gpuhealthd/gpuhealthd/fault"
)

// requestable are the steps that others are asked for.
var requestable = [...]StepKind{StepRestart, StepDrain, StepReset, StepReboot, StepReplace, StepDiag}

// share settles which incident asks for what: they stand on one node, and a
// repair that one asks for may serve another. It is called whenever an incident
// has come, changed or gone.
func (p *Plan) share(now time.Time) {
	for _, i := range p.live() {
		p.ask(now, i)
	}
}

// live gives the open incidents that something may be done about.
func (p *Plan) live() []*Incident {
	return slices.DeleteFunc(slices.Clone(p.state.Open), func(i *Incident) bool { return !i.standing() || i.Adopted })
}

// standing says whether an incident may ask for anything.
func (i *Incident) standing() bool {
	return !i.Released && !i.Verdict.Closed && i.State != Probation && !i.awaits()
}

// ask records what is to be done on an incident's behalf: by others, of whom it
// is asked, or in mode repair by the agent itself.
func (p *Plan) ask(now time.Time, i *Incident) {
	if p.inRepair(now, i) || i.awaits() {
		return // its diagnosis is all that is wanted, whatever its verdict was
	}
	v := i.Verdict
	wanted := p.wants(now, i)
	for _, k := range requestable {
		if s := i.step(k); s != nil && s.Status.over() && slices.Contains(wanted, k) && (k == StepReset || k == StepReboot) {
			s.Status = Withdrawn // the ladder has forgotten it
		}
		switch {
		case slices.Contains(wanted, k) && p.covered(now, i, k):
			i.want(now, k, Covered)
		case slices.Contains(wanted, k):
			if status := p.status(now, i, k); i.want(now, k, status) && status != Held && status != Guarded && !p.ours(i, k) {
				p.unwritten = append(p.unwritten, request{v.ID, k})
				p.tell(now, v, "Normal", requestReason(k), requestText(k, v))
			}
		case i.step(k) != nil:
			i.want(now, k, Withdrawn)
		}
	}
}

// wants gives the steps that an incident wants, in order.
func (p *Plan) wants(now time.Time, i *Incident) []StepKind {
	ks := requests(i.Verdict)
	if waitsToRestart(i.Verdict) && p.doing(i, StepRestart) {
		ks = append(ks, StepRestart)
	}
	if p.mode(i) != Repair {
		return ks
	}
	ks = slices.DeleteFunc(ks, func(k StepKind) bool { return k == StepReset || k == StepReboot || k == StepReplace })
	rung := p.rung(now, i)
	if rung == StepReboot && !slices.Contains(ks, StepDrain) {
		ks = append(ks, StepDrain)
	}
	if rung != "" {
		ks = append(ks, rung)
	}
	return ks
}

// status says how a step stands that is wanted at present.
func (p *Plan) status(now time.Time, i *Incident, k StepKind) StepStatus {
	idle := i.Verdict.Drain == fault.DrainWhenIdle && k != StepRestart
	switch s := i.step(k); {
	case p.barred(i), !p.ours(i, k) && p.mute(now, i, k):
		return Guarded
	case p.ours(i, k) && s != nil && (s.Status == UnderWay || s.Status == Overdue || s.Status == PutOff || s.Status == Blocked):
		return s.Status
	case p.sources.Store != "":
		return Held
	case p.ours(i, k) && k == StepReset && i.Refusals > maxRetries:
		return Blocked
	case idle:
		return WhenIdle
	case p.ours(i, k):
		return Planned
	}
	return Requested
}

// ours says whether the agent itself sees to a step of an incident. It reboots no
// host that it may neither empty nor reboot as it is, resets no GPU that the driver has
// never named, and restarts nothing but pods.
func (p *Plan) ours(i *Incident, k StepKind) bool {
	if p.mode(i) != Repair || slices.Contains(i.Declined, k) || !p.means(k).ours() || p.strange(i) {
		return false
	}
	if k == StepRestart {
		return ofPods(i.Verdict.Workloads)
	}
	return k != StepReboot || p.ours(i, StepDrain) || p.policy.Drain.AtDeadline == Force
}

// strange says whether an incident is to be ended by a reset and is about a GPU that
// the driver has never named: it may be a guest's, or nobody's.
func (p *Plan) strange(i *Incident) bool {
	return p.sources.Polled && max(i.Verdict.Action, i.Verdict.Later) == fault.Reset &&
		slices.ContainsFunc(i.Verdict.GPUs, func(d fault.Device) bool { return p.uuid(d) == "" })
}

// means says how the agent does a thing.
func (p *Plan) means(k StepKind) Means {
	switch k {
	case StepDrain:
		return p.policy.Drain.Mode
	case StepRestart:
		return p.policy.Restart.Mode
	case StepReset:
		return p.policy.Reset.Mode
	case StepReboot:
		return p.policy.Reboot.Mode
	case StepDiag:
		return p.policy.Diag.Mode
	}
	return MeansOff // a replacement
}

// covered says whether a step of an incident comes with what another one asks
// for: a reset with a reboot of the node or with the reset of the same GPU, and a
// diagnosis by others with that of the same GPU.
func (p *Plan) covered(now time.Time, i *Incident, k StepKind) bool {
	switch {
	case k == StepReset && p.mode(i) == Repair:
		return p.rebootComes(now, i)
	case k == StepReset:
		return slices.ContainsFunc(p.state.Open, func(o *Incident) bool { return o != i && o.standing() && p.serves(o, i) })
	case k == StepDiag && !p.ours(i, k):
		return slices.ContainsFunc(p.live(), func(o *Incident) bool { return o != i && p.diagnoses(o, i) })
	}
	return false
}

// serves says whether what an incident asks for resets the GPUs of another.
func (p *Plan) serves(o, i *Incident) bool {
	wanted := requests(o.Verdict)
	return slices.Contains(wanted, StepReboot) ||
		slices.Contains(wanted, StepReset) && within(i.Verdict.GPUs, o.Verdict.GPUs) && p.before(o, i)
}

// diagnoses says whether the diagnosis of an incident stands for another's: it is of
// the same GPUs, and goes deeper, or as deep and was asked for earlier.
func (p *Plan) diagnoses(o, i *Incident) bool {
	if !slices.Contains(requests(o.Verdict), StepDiag) || o.Verdict.Drain < i.Verdict.Drain || !within(p.diagScope(i), p.diagScope(o)) {
		return false
	}
	if d := o.Verdict.Diag - i.Verdict.Diag; d != 0 {
		return d > 0
	}
	return o.Verdict.Drain > i.Verdict.Drain || slices.Index(p.state.Open, o) < slices.Index(p.state.Open, i)
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
