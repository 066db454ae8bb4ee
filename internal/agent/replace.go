package agent

import (
	"github.com/gpuhealthd/gpuhealthd/collector/inventory"
	"github.com/gpuhealthd/gpuhealthd/fault"
	"github.com/gpuhealthd/gpuhealthd/internal/evidence"
	"github.com/gpuhealthd/gpuhealthd/remediate"
)

// replacements asks for another part for every open incident that nothing but that
// will end.
func (c *core) replacements(open []remediate.Incident) (out []evidence.Replacement) {
	for _, i := range open {
		if i.State != remediate.Failed {
			continue
		}
		r := evidence.Replacement{Incident: i.Verdict.ID, Reason: i.Verdict.Reason, GPUs: []evidence.GPU{}}
		gpus := i.Verdict.GPUs
		if asked := i.Replacement; asked != nil {
			gpus, r.Reason, r.Tried = asked.GPUs, asked.Reason, asked.Tried
		}
		r.Failure = c.plan.Failures(gpus)
		for _, d := range gpus {
			r.GPUs = append(r.GPUs, c.board(d))
		}
		if c.opts.Evidence != nil {
			r.Bundle = c.opts.Evidence.Path(r.Incident)
		}
		out = append(out, r)
	}
	return out
}

// board is what is known of a GPU; of one that never answered that is its address.
func (c *core) board(d fault.Device) evidence.GPU {
	g, known := c.memory.inventory.ByUUID(d.UUID)
	if !known {
		g, known = c.memory.inventory.ByPCI(d.PCI)
	}
	if !known {
		g = inventory.GPU{}
		g.UUID, g.PCI = d.UUID, d.PCI
	}
	return evidence.GPU{Identity: g.Identity, Slot: c.opts.Slots[g.PCI]}
}

// thisNode is what the node is at present, for a bundle.
func (c *core) thisNode() evidence.Node {
	n := evidence.Node{Agent: c.opts.Version, Name: c.opts.Name, Boot: c.boot, Driver: c.version, GPUs: []evidence.GPU{}}
	for _, g := range c.memory.inventory.GPUs() {
		n.GPUs = append(n.GPUs, evidence.GPU{Identity: g.Identity, Slot: c.opts.Slots[g.PCI]})
	}
	return n
}
