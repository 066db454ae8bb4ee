package agent

import (
	"cmp"
	"maps"
	"slices"

	"github.com/gpuhealthd/gpuhealthd/collector/nvml"
	"github.com/gpuhealthd/gpuhealthd/nvlink"
)

// linked keeps what a slow poll says of the NVLinks. What it does not tell of a
// GPU that the driver still lists is as it was.
func (c *core) linked(inv nvml.Inventory) {
	old := map[string]nvlink.GPUReport{}
	for _, r := range *c.links.Load() {
		old[r.UUID] = r
	}
	now := map[string]nvlink.GPUReport{}
	for _, g := range inv.GPUs {
		switch before, known := old[g.UUID]; {
		case g.UUID == "":
		case g.NVLink != nil:
			now[g.UUID] = nvlink.GPUReport{Address: nvlink.Address(g.PCI), UUID: g.UUID, Reading: *g.NVLink}
		case known && !g.Lost:
			now[g.UUID] = before
		}
	}
	reports := slices.SortedFunc(maps.Values(now), func(a, b nvlink.GPUReport) int { return cmp.Compare(a.UUID, b.UUID) })
	c.links.Store(&reports)
}

// Topology is who is wired to whom by NVLink, as the GPUs say; without any GPU
// before they have.
func (a *Agent) Topology() nvlink.Node {
	return nvlink.Build(*a.core.links.Load(), a.opts.Judge.Switches)
}
