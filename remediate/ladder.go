package remediate

import (
	"slices"
	"time"

	"github.com/gpuhealthd/gpuhealthd/fault"
)

// Attempt is one repair of one GPU. It is counted when it is begun, whatever
// comes of it: one that worked and had to be repeated has not worked.
type Attempt struct {
	// GPU is the zero device where the node as a whole was to be repaired.
	GPU  fault.Device `json:"gpu"`
	Kind StepKind     `json:"kind"`
	At   time.Time    `json:"at"`
	// Deed is the ID of the deed.
	Deed string `json:"deed"`
}

// Replacement is what a person needs to know to replace a part. The agent adds
// what the plan does not know: serial number, slot, and where the evidence is.
type Replacement struct {
	GPUs   []fault.Device `json:"gpus"`
	Fault  fault.Class    `json:"fault"`
	Reason string         `json:"reason"`
	At     time.Time      `json:"at"`
	// Tried are the repairs that have not helped, the oldest first.
	Tried []Attempt `json:"tried,omitempty"`
	// Checked is what the last diagnosis of the part says.
	Checked []Checked `json:"checked,omitempty"`
}

// about gives the checks of an incident's own GPUs.
func (p *Plan) about(i *Incident, cs []Checked) []Checked {
	ds := p.diagScope(i)
	return slices.DeleteFunc(slices.Clone(cs), func(c Checked) bool {
		return !slices.ContainsFunc(ds, func(d fault.Device) bool { return d.UUID == c.GPU })
	})
}

// rung gives the repair that an incident wants next: what its verdict asks for,
// or the next above what its GPUs have had within the policy's memory. It is
// empty while the verdict wants no repair.
func (p *Plan) rung(now time.Time, i *Incident) StepKind {
	v := i.Verdict
	switch {
	case p.mode(i) != Repair:
		return ""
	case i.Replacement != nil:
		return StepReplace
	}
	wants := max(v.Action, v.Later)
	if i.Failing {
		wants = max(wants, fault.Reset)
	}
	switch wants {
	case fault.Replace:
		return StepReplace
	case fault.Reset:
		if p.resettable(now, i) {
			return StepReset
		}
		if fault.RuleFor(v.Class).Cure == fault.CurePerson {
			return StepReplace
		}
	case fault.Reboot:
	default:
		return ""
	}
	if p.spent(now, i, StepReboot) {
		return StepReplace
	}
	return StepReboot
}

// resettable says whether a reset is an incident's next repair: there is a GPU to
// be reset, and neither that nor a reboot has been tried lately.
func (p *Plan) resettable(now time.Time, i *Incident) bool {
	return !i.SkipReset && len(p.resetScope(i)) > 0 && !p.spent(now, i, StepReset) && !p.spent(now, i, StepReboot)
}

// spent says whether any GPU of an incident has had a repair of a kind lately,
// beside the one that is under way.
func (p *Plan) spent(now time.Time, i *Incident, k StepKind) bool {
	running := ""
	if d := p.state.Deed; d != nil && !d.Undoing {
		running = d.ID
	}
	return slices.ContainsFunc(p.state.Attempts, func(a Attempt) bool {
		return a.Kind == k && a.Deed != running && now.Sub(a.At) < p.policy.Memory && slices.ContainsFunc(i.charged(), a.on)
	})
}

// on says whether the attempt was on a GPU.
func (a Attempt) on(d fault.Device) bool { return same(a.GPU, d) }

// charged gives the GPUs that an incident's repairs count against: the zero
// device where it names none.
func (i *Incident) charged() []fault.Device {
	if len(i.Verdict.GPUs) == 0 {
		return []fault.Device{{}}
	}
	return i.Verdict.GPUs
}

// charge counts a deed against the GPUs of the incidents that it serves. One
// whose reset comes with a reboot has had its reset.
func (p *Plan) charge(now time.Time, d *Deed, served []*Incident) {
	for _, i := range served {
		kind := p.rung(now, i)
		for _, g := range i.charged() {
			a := Attempt{GPU: g, Kind: kind, At: now, Deed: d.ID}
			if !slices.Contains(p.state.Attempts, a) {
				p.state.Attempts = append(p.state.Attempts, a)
			}
		}
	}
}

// refund takes back what was counted of some kinds for a deed, since it was not
// even tried.
func (p *Plan) refund(deed string, ks ...StepKind) {
	p.state.Attempts = slices.DeleteFunc(p.state.Attempts, func(a Attempt) bool { return a.Deed == deed && slices.Contains(ks, a.Kind) })
}

// forget drops the attempts that count no more.
func (p *Plan) forget(now time.Time) {
	p.state.Attempts = slices.DeleteFunc(p.state.Attempts, func(a Attempt) bool { return now.Sub(a.At) >= p.policy.Memory })
}

// fail gives an incident up: its part has to be replaced.
func (p *Plan) fail(now time.Time, i *Incident) {
	v := i.Verdict
	r := &Replacement{GPUs: slices.Clone(v.GPUs), Fault: v.Class, Reason: v.Reason, At: now}
	for _, a := range p.state.Attempts {
		if slices.ContainsFunc(i.charged(), a.on) {
			r.Tried = append(r.Tried, a)
		}
	}
	i.Replacement, i.Claimed = r, true
}
