package agent

import (
	"fmt"
	"slices"
	"time"

	"github.com/gpuhealthd/gpuhealthd/collector/inventory"
	"github.com/gpuhealthd/gpuhealthd/collector/nvml"
	"github.com/gpuhealthd/gpuhealthd/fault"
)

// errNoPermission is NVML_ERROR_NO_PERMISSION in nvml.h: the GPU is there, and not
// for us.
const errNoPermission = 4

// unnamed gives the GPUs that the driver counts and that have not told this child
// who they are. They are named after all where they can only be the known ones
// that it does not name, and all fare alike.
func (c *core) unnamed(now time.Time, inv nvml.Inventory) (named []fault.GPUState, unnamed []fault.Unnamed) {
	for _, g := range inv.GPUs {
		if g.UUID == "" {
			unnamed = append(unnamed, c.unnamedOf(now, g))
		}
	}
	missing := c.memory.missing(inv)
	if len(unnamed) == 0 || len(unnamed) != len(missing) || !alike(unnamed) {
		return nil, unnamed
	}
	u := unnamed[0]
	if u.Excused || !u.Lost && !u.Stuck && len(answering(inv)) == 0 {
		return nil, unnamed
	}
	for n, g := range missing {
		s := fault.GPUState{Device: fault.Device{PCI: g.PCI, UUID: g.UUID}, Lost: u.Lost, Stuck: u.Stuck}
		if !u.Lost {
			s.Failed = unnamed[n].Why
		}
		named = append(named, s)
	}
	return named, nil
}

// unnamedOf gives one GPU without a name in the judge's words. The first call
// initialises a GPU that nobody else uses, which may take longer than a deadline:
// a child that was just opened is given the grace.
func (c *core) unnamedOf(now time.Time, g nvml.GPU) fault.Unnamed {
	u := fault.Unnamed{Lost: g.Lost, Stuck: g.Stuck != ""}
	what := "tells no name"
	switch {
	case u.Stuck:
		what = g.Stuck + " does not return"
		u.Excused = now.Sub(c.greeted) < c.opts.Grace
	case g.Error != nil:
		what = g.Error.Error()
		u.Excused = g.Error.Code == errNoPermission
	}
	u.Why = fmt.Sprintf("index %d: %s", g.Index, what)
	return u
}

func alike(us []fault.Unnamed) bool {
	return !slices.ContainsFunc(us, func(u fault.Unnamed) bool {
		return u.Lost != us[0].Lost || u.Stuck != us[0].Stuck || u.Excused != us[0].Excused
	})
}

// nobody says whether every GPU answers, and none tells who it is: lost ones are
// somebody where they are known.
func (c *core) nobody(inv nvml.Inventory) bool {
	known := len(c.memory.inventory.GPUs()) > 0
	return len(inv.GPUs) > 0 && !slices.ContainsFunc(inv.GPUs, func(g nvml.GPU) bool {
		return g.UUID != "" || g.Stuck != "" || g.Lost && known
	})
}

// missing gives the known GPUs that a poll does not name.
func (m *memory) missing(inv nvml.Inventory) []inventory.GPU {
	return slices.DeleteFunc(m.inventory.GPUs(), func(g inventory.GPU) bool {
		return slices.ContainsFunc(inv.GPUs, func(n nvml.GPU) bool { return n.UUID == g.UUID })
	})
}
