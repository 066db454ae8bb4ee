package remediate

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/gpuhealthd/gpuhealthd/fault"
)

// FenceDevice is the value of a mark's Fence while devices are fenced by themselves,
// in the place of the cordon.
const FenceDevice = "device"

// fenceSettle is how long a fence stands before the cordon is lifted: a scheduler
// hears of devices and of Nodes by two watches, and must not hear of the Node first.
const fenceSettle = 5 * time.Second

// Fence is one GPU that shall be kept from new work by itself, while the rest of its
// node serves.
type Fence struct {
	// GPU is its UUID.
	GPU string `json:"gpu"`
	// Instance is the MIG GPU instance that the fault keeps to; nil is the whole GPU,
	// with all of its instances.
	Instance *int `json:"instance,omitempty"`
	// MIG are the UUIDs of the instance's devices, as far as the driver tells them.
	MIG []string `json:"-"`
	// Fault is the class of the worst fault that it is for.
	Fault string `json:"fault"`
	// Rules name what makes it, empty until then. Since is since when the node may rely
	// on that; zero while it may not.
	Rules []string  `json:"rules,omitempty"`
	Since time.Time `json:"since,omitzero"`
	// Ends: it is needed no more, and goes. Stays is why it cannot be taken away; empty
	// where it can, or nobody has tried.
	Ends  bool   `json:"ends,omitempty"`
	Stays string `json:"stays,omitempty"`
}

// InForce says whether the node may rely on a fence.
func (f Fence) InForce() bool { return len(f.Rules) > 0 && !f.Since.IsZero() }

// Key names what is fenced.
func (f Fence) Key() string {
	if f.Instance == nil {
		return f.GPU
	}
	return fmt.Sprintf("%s instance %d", f.GPU, *f.Instance)
}

// Fenced is what came of a fence.
type Fenced struct {
	// Fence has its rules where they stand.
	Fence
	// Gone: rules that stood were taken away by somebody, or those of a fence that ends
	// are.
	Gone bool
	// Changed is how somebody has changed a rule that stood; empty where nobody has.
	Changed string
	// Why is why there can be no fence at present, or why one that ends cannot be taken
	// away; empty otherwise.
	Why string
}

// fencing is what is known of fences.
type fencing struct {
	Standing []Fence `json:"standing,omitempty"`
	// Ending are those that are needed no more, until they are known to be gone.
	Ending []Fence `json:"ending,omitempty"`
	// Lifted: they stand in the place of the cordon.
	Lifted bool `json:"lifted,omitempty"`
}

// Fences gives the devices that shall be fenced, those whose fence ends, and no others;
// known is false while the Node has not been seen, which may tell of more.
func (p *Plan) Fences() (fences []Fence, known bool) { return slices.Clone(p.fences), p.met }

// Fenced takes in what came of the fences. One that somebody has taken away is an
// administrator's word, as an uncordon is. One that was changed, or cannot be seen to
// stand, fences nothing: the cordon is back until it does.
func (p *Plan) Fenced(now time.Time, all []Fenced) {
	f := &p.state.Fencing
	for _, one := range all {
		had := slices.IndexFunc(f.Standing, one.is)
		switch {
		case one.Ends:
			p.fenceEnds(now, one)
		case !slices.ContainsFunc(p.fences, func(w Fence) bool { return !w.Ends && w.is(one.Fence) }):
		case one.Gone && had >= 0:
			for _, i := range p.fencedBy(one.Fence) {
				p.release(now, i, "the fence of "+one.Key()+" was taken away by hand")
			}
		case one.Changed != "" && had >= 0:
			f.Standing[had].Since = time.Time{}
			p.turned(now, Event{Type: "Warning", Reason: "FenceChanged",
				Message: fmt.Sprintf("the fence of %s was changed by somebody; it is made anew, and the node is cordoned meanwhile: %s", one.Key(), one.Changed)})
		case one.Why != "":
			if had >= 0 {
				f.Standing[had].Since = time.Time{}
			}
			p.unfenced(now, one)
		case had < 0 || f.Standing[had].Since.IsZero():
			p.stood(now, one.Fence)
		}
	}
	p.decide(now)
}

// unfenced takes in why there is no fence.
func (p *Plan) unfenced(now time.Time, one Fenced) {
	for _, i := range p.fencedBy(one.Fence) {
		if i.Unfenced == "" {
			p.tell(now, i.Verdict, "Normal", "DeviceNotFenced",
				fmt.Sprintf("%s cannot be fenced by itself, and the node stays cordoned: %s (incident %s)", one.Key(), one.Why, i.Verdict.ID))
		}
		i.Unfenced = one.Why
	}
}

// stood takes in that a fence stands from now on.
func (p *Plan) stood(now time.Time, one Fence) {
	one.Since = now
	p.state.Fencing.Standing = append(slices.DeleteFunc(p.state.Fencing.Standing, one.is), one)
	for _, i := range p.fencedBy(one) {
		i.Unfenced = ""
	}
}

// is says whether another fence is of the same device.
func (f Fence) is(o Fence) bool { return f.Key() == o.Key() }

// fencedBy gives the incidents that a fence is for.
func (p *Plan) fencedBy(f Fence) []*Incident {
	return slices.DeleteFunc(slices.Clone(p.state.Open), func(i *Incident) bool {
		return !i.holds() || !slices.ContainsFunc(p.fencesOf(i), f.is)
	})
}

// fence settles which devices are fenced, and whether that stands in the place of
// the cordon. A node is cordoned first, as fast as ever; only then are devices looked
// for, and nothing is lifted before all of them are fenced.
func (p *Plan) fence(now time.Time) {
	var want []Fence
	lift, holding := true, false
	for _, i := range p.ranked() {
		if !i.holds() {
			continue
		}
		holding = true
		narrow := i.Contained && p.narrow(now, i)
		lift = lift && narrow && p.stands(now, i)
		for _, f := range p.fencesOf(i) {
			at := slices.IndexFunc(p.state.Fencing.Standing, f.is)
			if at >= 0 {
				f = p.state.Fencing.Standing[at]
			}
			// One that stands stays as long as its incident, whatever else is done.
			if (narrow || at >= 0) && !slices.ContainsFunc(want, f.is) {
				want = append(want, f)
			}
		}
	}
	p.endFences(want)
	p.fences = append(want, p.state.Fencing.Ending...)
	p.lift(now, lift && holding)
}

// lift has the fences stand in the place of the cordon, or no more.
func (p *Plan) lift(now time.Time, lifted bool) {
	if lifted && !p.state.Fencing.Lifted {
		for _, i := range p.state.Open {
			if i.holds() {
				p.tell(now, i.Verdict, "Normal", "DeviceFenced", fmt.Sprintf("%s fenced by itself for %s, and the rest of the node serves (incident %s)",
					strings.Join(keys(p.fencesOf(i)), ", "), i.Verdict.Class, i.Verdict.ID))
			}
		}
	}
	p.state.Fencing.Lifted = lifted
}

func keys(fences []Fence) (names []string) {
	for _, f := range fences {
		names = append(names, f.Key())
	}
	return names
}

// stands says whether all fences of an incident stand, and schedulers have heard of
// them.
func (p *Plan) stands(now time.Time, i *Incident) bool {
	fences := p.fencesOf(i)
	for _, f := range fences {
		at := slices.IndexFunc(p.state.Fencing.Standing, f.is)
		if at < 0 || !p.state.Fencing.Standing[at].InForce() || now.Before(p.state.Fencing.Standing[at].Since.Add(fenceSettle)) {
			return false
		}
	}
	return len(fences) > 0
}

// narrow says whether it is enough to fence an incident's GPUs by themselves: nothing
// else is inside its radius, and what the agent is going to do reaches no further. What
// a device plugin gives out no fence of a device holds back.
func (p *Plan) narrow(now time.Time, i *Incident) bool {
	v := i.Verdict
	if !p.policy.Fence || p.plugged || v.Radius > fault.GPU || len(v.GPUs) == 0 || !inside(v.Affected, v.GPUs) ||
		slices.ContainsFunc(v.GPUs, func(d fault.Device) bool { return p.uuid(d) == "" }) {
		return false
	}
	if p.mode(i) == Observe {
		return p.stands(now, i) // none is made
	}
	return p.mode(i) != Repair || !p.whole(now, i) && inside(p.scope(i), v.GPUs)
}

// inside says whether all of a is in b.
func inside(a, b []fault.Device) bool { return len(a) == 0 || within(a, b) }

// fencesOf gives the fences that an incident would need. What the agent does itself
// needs the whole GPU, and not an instance alone.
func (p *Plan) fencesOf(i *Incident) (fences []Fence) {
	for _, d := range i.Verdict.GPUs {
		f := Fence{GPU: p.uuid(d), Fault: string(i.Verdict.Class), Instance: i.Verdict.Instance}
		if p.mode(i) == Repair {
			f.Instance = nil
		}
		if f.GPU != "" {
			fences = append(fences, f)
		}
	}
	return fences
}
