package agent

import (
	"slices"
	"time"

	"github.com/gpuhealthd/gpuhealthd/collector/inventory"
	"github.com/gpuhealthd/gpuhealthd/fault"
	"github.com/gpuhealthd/gpuhealthd/nvlink"
	"github.com/gpuhealthd/gpuhealthd/xidparse"
)

// tiedFor is how long it holds which GPUs are reset together: a fabric manager
// comes and goes.
const tiedFor = time.Minute

// tied looks which GPUs can only be reset as one, where the agent resets any.
func (c *core) tied(now time.Time, changed bool) {
	if !c.opts.Policy.Repairs() || !changed && now.Sub(c.tiedAt) < tiedFor {
		return
	}
	c.tiedAt = now
	c.sources.Together = c.opts.Reset.together(c.memory.inventory.GPUs())
}

// ResetScope says how far a reset reaches.
type ResetScope struct {
	// Fixed is what a site has decided; empty goes by the boards' names.
	Fixed nvlink.ResetScope
	// Managed says whether a fabric manager runs; where it cannot tell, none does.
	Managed func() bool
	// Topology says which GPUs belong to a baseboard; the zero value, that all do.
	Topology nvlink.Topology
}

// of gives the scope for a board.
func (s ResetScope) of(board string) nvlink.ResetScope {
	if s.Fixed != "" {
		return s.Fixed
	}
	return nvlink.ResetRuleOf(board).Scope(s.Managed != nil && s.Managed())
}

// together gives the groups of GPUs that can only be reset as one.
func (s ResetScope) together(known []inventory.GPU) (groups [][]fault.Device) {
	all := make([]nvlink.Address, len(known))
	for i, g := range known {
		all[i] = nvlink.Address(g.PCI)
	}
	for i, g := range known {
		if slices.ContainsFunc(groups, func(group []fault.Device) bool { return holds(group, g.PCI) }) {
			continue
		}
		var group []fault.Device
		for _, a := range s.Topology.Reset(s.of(g.Name), all[i:i+1], all) {
			if n := slices.Index(all, a); n >= 0 {
				group = append(group, fault.Device{PCI: known[n].PCI, UUID: known[n].UUID})
			}
		}
		if len(group) > 1 {
			groups = append(groups, group)
		}
	}
	return groups
}

func holds(group []fault.Device, pci xidparse.PCI) bool {
	return slices.ContainsFunc(group, func(d fault.Device) bool { return d.PCI == pci })
}
