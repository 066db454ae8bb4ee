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
	p.occupied = &o
	p.decide(now)
}

// Watches gives the GPUs of which it has to be known at present who holds them,
// sorted by address; those of the whole node where a reboot is wanted.
func (p *Plan) Watches(now time.Time) []fault.Device {
	watched := []fault.Device{}
	if !p.policy.Repairs() {
		return watched
	}
	for _, i := range p.live() {
		rung := p.rung(now, i)
		switch {
		case p.inRepair(now, i) || !p.ours(i, rung):
		case rung == StepReboot:
			watched = union(watched, p.sources.GPUs, i.Verdict.GPUs)
		case i.Refusals <= maxRetries:
			watched = union(watched, p.resetScope(i))
		}
	}
	return watched
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

// anybody gives all who hold a GPU of the node, by the last that was heard.
func (p *Plan) anybody() []Holder {
	if p.occupied == nil {
		return nil
	}
	return p.occupied.Holders
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
