package agent

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/gpuhealthd/gpuhealthd/collector/nvml"
	"github.com/gpuhealthd/gpuhealthd/fault"
	"github.com/gpuhealthd/gpuhealthd/nvlink"
	"github.com/gpuhealthd/gpuhealthd/remediate"
	"github.com/gpuhealthd/gpuhealthd/remediate/host"
)

// verifyFor is how long after a reset its GPUs may take to look as they should:
// the driver loads, and links train.
const verifyFor = 2 * time.Minute

// before is what the driver said when a reset was begun. Whether the fault is over
// afterwards is the judge's to say; what is compared here is for people.
type before struct {
	deed     string
	readings []host.Reading
}

// verifying keeps what the driver said when a reset was begun.
func (c *core) verifying() {
	d := c.plan.Deed()
	if d == nil || d.Undoing || d.Kind != remediate.StepReset || c.before.deed == d.ID {
		return
	}
	c.before = before{d.ID, c.readings}
	c.plan.Verify(nil)
}

// ended takes in how a deed ended: the judge hears of a reset, and the plan of all.
// What was said of the fabric before a reset counts no more.
func (c *core) ended(now time.Time, o remediate.Outcome) {
	if d := c.plan.Deed(); d != nil && d.ID == o.Deed && d.Kind == remediate.StepReset && o.Result == remediate.Succeeded {
		c.verify(now, *d)
		clear(c.registered)
		c.step(now, fault.Repaired{GPUs: d.GPUs})
	}
	c.plan.Done(now, o)
}

// verify begins the verification of a reset that is over. It is written down with
// the end of the reset.
func (c *core) verify(now time.Time, d remediate.Deed) {
	var had []host.Reading
	if c.before.deed == d.ID {
		had = c.before.readings
	}
	text, err := json.Marshal(had)
	if err != nil {
		c.log.Error("a reset will not be verified", "deed", d.ID, "error", err)
		return
	}
	c.plan.Verify(&remediate.Verification{Deed: d, Before: text, Until: now.Add(verifyFor)})
}

// verified compares a poll with the one before the reset, and tells what speaks
// against its having worked once that has had its time.
func (c *core) verified(now time.Time, inv nvml.Inventory) {
	c.readings = c.read(inv)
	v := c.plan.Verification()
	if v == nil {
		return
	}
	var had []host.Reading
	if err := json.Unmarshal(v.Before, &had); err != nil {
		c.log.Error("a reset cannot be verified", "deed", v.Deed.ID, "error", err)
	}
	against := host.Verify(v.Deed.GPUs, had, c.readings)
	switch {
	case len(against) == 0:
		c.log.Info("a reset has done what it should", "deed", v.Deed.ID)
	case now.Before(v.Until):
		return
	default:
		c.log.Warn("a reset has not done all that it should", "deed", v.Deed.ID, "against", against)
		c.plan.Doubt(now, v.Deed, strings.Join(against, "; "))
	}
	c.plan.Verify(nil)
}

// read gives what a poll says of a reset's success. The fabric is asked in slow
// polls only, and stands until the next.
func (c *core) read(inv nvml.Inventory) []host.Reading {
	var all []host.Reading
	for _, g := range inv.GPUs {
		if g.NVLink != nil && g.NVLink.Fabric != nil {
			c.registered[g.UUID] = g.NVLink.Fabric.State == nvlink.FabricCompleted
		}
		r := host.Reading{GPU: fault.Device{PCI: g.PCI, UUID: g.UUID}, Lost: g.Lost, Recovery: g.Recovery}
		if g.Remap != nil {
			r.RemapPending = &g.Remap.Pending
		}
		r.Uncorrected = sum(g.ECC.Volatile.DRAMUncorrected, g.ECC.Volatile.SRAMUncorrected)
		if registered, told := c.registered[g.UUID]; told {
			r.Registered = &registered
		}
		all = append(all, r)
	}
	return all
}
