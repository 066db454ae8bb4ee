package remediate

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/gpuhealthd/gpuhealthd/fault"
)

// stale is how old an occupancy may be: who held a GPU before that says nothing
// of the present.
const stale = time.Minute

// Occupied takes in who holds the GPUs.
func (p *Plan) Occupied(now time.Time, o Occupancy) {
	if p.occupied = &o; o.Unknown == "" {
		p.looked = o.At
	}
	p.decide(now)
}

// Watches gives the GPUs of which it has to be known at present who holds them,
// sorted by address; those of the whole node where a reboot is wanted. What was seen
// before since counts no more: the node was closed or emptied then, or a reset
// refused.
func (p *Plan) Watches(now time.Time) (gpus []fault.Device, since time.Time) {
	gpus, since = p.diagWatches(now)
	if !p.policy.Repairs() {
		return gpus, since
	}
	since = later(since, p.state.Emptied.At)
	for _, i := range p.live() {
		rung := p.rung(now, i)
		switch {
		case p.inRepair(now, i) || !p.ours(i, rung):
			continue
		case rung == StepReboot:
			gpus = union(gpus, p.sources.GPUs, i.Verdict.GPUs)
		case i.Refusals <= maxRetries:
			gpus = union(gpus, p.resetScope(i))
		}
		since = later(since, later(i.Seen, p.refusedAt(i)))
	}
	return gpus, since
}

// unproven says whether the GPUs of an incident were emptied just now, and nobody has
// looked since: that they are free is the proof that ends a drain.
func (p *Plan) unproven(now time.Time, i *Incident) bool {
	s, e := i.step(StepDrain), p.state.Emptied
	return i.standing() && s != nil && s.Status == Done && p.ours(i, p.rung(now, i)) && e.covers(p.scope(i), p.whole(now, i)) &&
		(p.occupied == nil || !p.occupied.At.After(e.At)) && now.Sub(e.At) < stale && !p.refusedAt(i).After(e.At)
}

// refusedAt is when a reset that waits for its holders was refused, zero for never.
func (p *Plan) refusedAt(i *Incident) time.Time {
	if s := i.step(StepReset); s != nil && s.Status == Blocked && i.Refusals > 0 {
		return s.Since
	}
	return time.Time{}
}

// freeFor is free for the GPUs that are reset for an incident. Who has kept them from
// that before must be gone as well, be it a service, which holds up nobody else.
func (p *Plan) freeFor(now time.Time, i *Incident, since time.Time) bool {
	return p.free(now, p.resetScope(i), since) && !slices.ContainsFunc(p.occupied.Holders, func(h Holder) bool {
		return h.PID != 0 && slices.ContainsFunc(i.Refusers, func(r Holder) bool { return r.PID == h.PID })
	})
}

// free says whether nobody is known to hold any of the GPUs, by what was seen
// since a moment, and lately. Unknown is never free.
func (p *Plan) free(now time.Time, ds []fault.Device, since time.Time) bool {
	return p.fresh(now, since) && len(p.holders(ds)) == 0
}

// idle says whether nobody is known to hold any GPU of the node.
func (p *Plan) idle(now, since time.Time) bool {
	return p.fresh(now, since) && len(p.anybody()) == 0
}

// fresh says whether it is known who holds the GPUs.
func (p *Plan) fresh(now, since time.Time) bool {
	o := p.occupied
	return o != nil && o.Unknown == "" && o.At.After(since) && now.Sub(o.At) <= stale
}

// holders gives those who hold any of the GPUs, by the last that was heard. A
// GPU whose UUID is not known may be anybody's.
func (p *Plan) holders(ds []fault.Device) []Holder {
	var hs []Holder
	for _, h := range p.anybody() {
		if h.GPU == "" || slices.ContainsFunc(ds, func(d fault.Device) bool { id := p.uuid(d); return id == "" || id == h.GPU }) {
			hs = append(hs, h)
		}
	}
	return hs
}

// heldBy says who holds GPUs, or that nobody can tell.
func (p *Plan) heldBy(hs []Holder) string {
	switch o := p.occupied; {
	case o != nil && o.Unknown != "":
		return "it is not known who holds the GPUs: " + o.Unknown
	case o != nil && len(hs) > 0:
		return "held by " + names(hs)
	}
	return "it is not known who holds the GPUs"
}

// anybody gives all who hold a GPU of the node for their work, by the last that was
// heard.
func (p *Plan) anybody() []Holder {
	if p.occupied == nil {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(p.occupied.Holders), func(h Holder) bool { return h.Service })
}

// uuid gives a device's UUID, by the last poll where the device lacks it.
func (p *Plan) uuid(d fault.Device) string {
	if d.UUID != "" {
		return d.UUID
	}
	for _, g := range p.sources.GPUs {
		if g.PCI == d.PCI {
			return g.UUID
		}
	}
	return ""
}

// shownHolders bounds the holders that an event names.
const shownHolders = 8

// names tells holders apart for a person.
func names(hs []Holder) string {
	var ns []string
	for _, h := range hs[:min(len(hs), shownHolders)] {
		ns = append(ns, h.String())
	}
	if n := len(hs) - len(ns); n > 0 {
		ns = append(ns, fmt.Sprintf("%d more", n))
	}
	return strings.Join(ns, ", ")
}

// String names the holder by pod and process, as far as they are known.
func (h Holder) String() string {
	switch {
	case h.PID == 0 && h.Pod == "":
		return "somebody"
	case h.PID == 0:
		return "pod " + h.Pod
	case h.Pod == "":
		return fmt.Sprintf("process %d (%s)", h.PID, h.Process)
	}
	return fmt.Sprintf("pod %s, process %d (%s)", h.Pod, h.PID, h.Process)
}
