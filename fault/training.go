package fault

import (
	"cmp"
	"slices"
	"time"
)

// Training is what of a GPU's NVLinks is not up and is given its time.
type Training struct {
	GPU Device `json:"gpu"`
	// Class is what it becomes when it lasts: LinksDown or FabricUnhealthy.
	Class Class `json:"class"`
	// What says in words what is not up.
	What string `json:"what"`
	// Until is how long it is given at least; the first poll after that judges.
	Until time.Time `json:"until"`
}

// Training gives what is on its way and no fault yet, by address.
func (j *Judge) Training() []Training {
	var all []Training
	for pci, d := range j.devices {
		l := &d.Links
		add := func(c Class, what string, until time.Time) {
			if !until.IsZero() && what != "" && j.open[key{pci: pci, class: c}] == nil {
				all = append(all, Training{GPU: j.named(pci), Class: c, What: what, Until: until})
			}
		}
		if len(l.down) > 0 {
			add(LinksDown, downText(l.down)+" down", l.state.Until())
		}
		if f := j.fabricOf(pci); f != nil {
			_, why := f.Standing(true)
			add(FabricUnhealthy, why, l.fabric.Until())
		}
	}
	slices.SortFunc(all, func(a, b Training) int {
		return cmp.Or(comparePCI(a.GPU.PCI, b.GPU.PCI), cmp.Compare(b.Class, a.Class))
	})
	return all
}
