package fault

import (
	"time"

	"github.com/gpuhealthd/gpuhealthd/xidparse"
)

// Unnamed is a GPU that the driver counts and that has not told who it is: it
// cannot be keyed by its address, and is a fault of the node.
type Unnamed struct {
	// Why says which GPU it is, as far as that is known, and what it answers.
	Why string
	// Lost and Stuck are as in GPUState; a GPU that is neither has answered with an
	// error.
	Lost, Stuck bool
	// Excused: that is no fault, and only keeps a GPU from being missed which it may
	// be: it may still be on its way, or is not for this agent.
	Excused bool
}

// unnamedClasses are the faults that a GPU without a name can have.
var unnamedClasses = [...]Class{GPULost, DriverHung, GPUFailed}

func (u Unnamed) class() Class {
	switch {
	case u.Stuck:
		return DriverHung
	case u.Lost:
		return GPULost
	}
	return GPUFailed
}

// unnamed counts the polls in a row in which a GPU without a name was not in
// order.
func (j *Judge) unnamed(now time.Time, inv Inventory) {
	why := map[Class]string{}
	for _, u := range inv.Unnamed {
		if !u.Excused && (u.Stuck || answered(inv)) { // else it is most likely this agent's container
			why[u.class()] = u.Why
		}
	}
	for _, c := range unnamedClasses {
		if why[c] == "" {
			delete(j.nameless, c)
			continue
		}
		if j.nameless[c]++; j.nameless[c] >= lostLimit {
			e := j.shown(now, xidparse.PCI{}, c)
			e.Unnamed = why[c]
		}
	}
	if j.nameless[GPULost] == 0 && answered(inv) {
		j.seen(now, key{class: GPULost})
	}
}
