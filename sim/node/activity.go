package node

import (
	"fmt"
	"strconv"
)

// The kinds of activity that a GPU can show.
const (
	Idle   = "idle"   // nothing runs
	Busy   = "busy"   // an engine computes
	Ghost  = "ghost"  // utilisation is told, and nothing runs: no SM, no power
	Wedged = "wedged" // a collective spins: every SM is busy, and no tensor core, no memory
)

// shown is what the driver tells of an activity: percentages, of power of its limit.
type shown struct{ busy, memory, sm, tensor, dram, power float64 }

// unchanged is the power that "[gpu *]" has.
const unchanged = -1

func showing(kind string) (shown, error) {
	switch kind {
	case Idle:
		return shown{power: unchanged}, nil
	case Busy:
		return shown{busy: 98, memory: 60, sm: 92, tensor: 41, dram: 57, power: 82}, nil
	case Ghost:
		return shown{busy: 100, power: unchanged}, nil
	case Wedged:
		return shown{busy: 100, sm: 100, dram: 0.2, power: 19}, nil
	}
	return shown{}, fmt.Errorf("activity %q: want %s, %s, %s or %s", kind, Idle, Busy, Ghost, Wedged)
}

// Activity lets a GPU show one kind of activity: Idle, Busy, Ghost or Wedged. What
// it does not support stays so.
func (n *Node) Activity(gpu, kind string) error {
	a, err := showing(kind)
	if err != nil {
		return err
	}
	return n.edit(gpu, func(c *conf, i int) {
		power := parseNumber(c.get(i, "power.limit")).base * a.power / 100
		if a.power == unchanged {
			power = parseNumber(c.get(everyGPU, "power")).base
		}
		for _, v := range []struct {
			name   string
			number float64
		}{
			{"utilization.gpu", a.busy}, {"utilization.memory", a.memory},
			{"gpm.sm", a.sm}, {"gpm.tensor", a.tensor}, {"gpm.dram", a.dram}, {"power", power},
		} {
			if c.get(i, v.name) != Unsupported {
				c.set(i, v.name, strconv.FormatFloat(v.number, 'f', -1, 64))
			}
		}
	})
}
