package agent

import (
	"strings"
	"time"

	"github.com/gpuhealthd/gpuhealthd/collector/nvml"
	"github.com/gpuhealthd/gpuhealthd/fault"
	"github.com/gpuhealthd/gpuhealthd/remediate"
	"github.com/gpuhealthd/gpuhealthd/remediate/host"
)

// verifyFor is how long after a reset its GPUs may take to look as they should:
// the driver loads, and links train.
const verifyFor = 2 * time.Minute

// verification compares what the driver said before a reset and says after it.
// Whether the fault is over is the judge's to say; this is for people.
type verification struct {
	deed   remediate.Deed
	before []host.Reading
	until  time.Time // zero: the reset is not over
}

// verifying keeps what the driver said when a reset was begun.
func (c *core) verifying() {
	d := c.plan.Deed()
	if d == nil || d.Undoing || d.Kind != remediate.StepReset || c.verify != nil && c.verify.deed.ID == d.ID {
		return
	}
	c.verify = &verification{deed: *d, before: c.readings}
}

// ended takes in how a deed ended: the judge hears of a reset, and the plan of all.
func (c *core) ended(now time.Time, o remediate.Outcome) {
	if v := c.verify; v != nil && v.deed.ID == o.Deed {
		if o.Result == remediate.Succeeded {
			v.until = now.Add(verifyFor)
			c.step(now, fault.Repaired{GPUs: v.deed.GPUs})
		} else {
			c.verify = nil
		}
	}
	c.plan.Done(now, o)
}

// verified compares a poll with the one before the reset, and tells what speaks
// against its having worked once that has had its time.
func (c *core) verified(now time.Time, inv nvml.Inventory) {
	c.readings = readings(inv)
	v := c.verify
	if v == nil || v.until.IsZero() {
		return
	}
	against := host.Verify(v.deed.GPUs, v.before, c.readings)
	switch {
	case len(against) == 0:
		c.log.Info("a reset has done what it should", "deed", v.deed.ID)
	case now.Before(v.until):
		return
	default:
		c.log.Warn("a reset has not done all that it should", "deed", v.deed.ID, "against", against)
		c.plan.Doubt(now, v.deed, strings.Join(against, "; "))
	}
	c.verify = nil
}

func readings(inv nvml.Inventory) []host.Reading {
	var all []host.Reading
	for _, g := range inv.GPUs {
		r := host.Reading{GPU: fault.Device{PCI: g.PCI, UUID: g.UUID}, Lost: g.Lost, Recovery: g.Recovery}
		if g.Remap != nil {
			r.RemapPending = &g.Remap.Pending
		}
		r.Uncorrected = sum(g.ECC.Volatile.DRAMUncorrected, g.ECC.Volatile.SRAMUncorrected)
		all = append(all, r)
	}
	return all
}
