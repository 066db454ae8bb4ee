package fault

import (
	"cmp"
	"fmt"
	"time"

	"github.com/gpuhealthd/gpuhealthd/nvlink"
)

// nvlinks judges what a poll says of the NVLinks, the node as a whole: what a GPU
// should have is seen by what its neighbours have.
func (j *Judge) nvlinks(now time.Time, inv Inventory) {
	var told []GPUState
	for _, g := range inv.GPUs {
		if g.NVLink != nil && !g.Lost && g.Failed == "" {
			told = append(told, g)
		}
	}
	if len(told) == 0 {
		return
	}
	common := commonLinks(told)
	for _, g := range told {
		if d := j.device(g.PCI); d.Links.read(now, g.NVLink, common) {
			j.wasReset(now, g.PCI)
		}
	}
	j.report()
	for _, g := range told {
		j.linkState(now, g)
		j.fabricState(now, g)
	}
	j.reachDown()
}

// commonLinks gives a bit for each link that more than half of the GPUs, and two
// at least, have up.
func commonLinks(told []GPUState) (common uint64) {
	up := map[int]int{}
	for _, g := range told {
		for _, l := range g.NVLink.Links {
			if l.State.Up() {
				up[l.Index]++
			}
		}
	}
	for link, n := range up {
		if n > 1 && 2*n > len(told) {
			common |= 1 << link
		}
	}
	return common
}

// report keeps what the GPUs say of who is wired to whom.
func (j *Judge) report() {
	var reports []nvlink.GPUReport
	for pci, d := range j.devices {
		if d.Links.last != nil && d.Links.last.Links != nil {
			reports = append(reports, nvlink.GPUReport{Address: nvlink.Address(pci), UUID: d.UUID, Reading: *d.Links.last})
		}
	}
	if len(reports) == 0 {
		return
	}
	t := nvlink.Build(reports, j.cfg.Switches).Topology()
	if old := j.reported; old != nil && t.Domain == "" && old.Domain != "" && !j.left() {
		t.Domain, t.OneBaseboard, t.Baseboards = old.Domain, false, nil
	}
	j.reported = &t
}

// left says whether a GPU has registered in no domain. One that registers anew says
// nothing of the domain meanwhile, and is in it all the same.
func (j *Judge) left() bool {
	for _, d := range j.devices {
		if r := d.Links.last; r != nil && completed(r.Fabric) && r.Fabric.Domain() == "" {
			return true
		}
	}
	return false
}

// topology is what the node is known to be: as somebody said, or as it reports.
func (j *Judge) topology() *nvlink.Topology {
	if j.cfg.Topology != nil {
		return j.cfg.Topology
	}
	return j.reported
}

// linkState judges the links of one GPU: those that are down for longer than
// training takes, and those that fare worse than they did.
func (j *Judge) linkState(now time.Time, g GPUState) {
	l := &j.devices[g.PCI].Links
	if g.NVLink.Links == nil {
		return // not told is neither good nor bad
	}
	if l.state.Read(now, len(l.down) == 0) {
		j.shown(now, g.PCI, LinksDown)
	}
	if warned, exact := l.follow(now, j.cfg.Links); len(warned) > 0 {
		e := j.shown(now, g.PCI, NVLinkDegrading)
		e.Detail = firstOf(warned)
		e.Evidence = exact[:min(len(exact), evidenceLines)]
	}
}

// fabricState judges one GPU's registration at the fabric.
func (j *Judge) fabricState(now time.Time, g GPUState) {
	l := &j.devices[g.PCI].Links
	if g.NVLink.Fabric == nil {
		return
	}
	standing, why := g.NVLink.Fabric.Standing(l.Domain || g.NVLink.Platform.Racked() || j.shape().Domain != "")
	switch standing {
	case nvlink.StandingUnknown:
		return
	case nvlink.StandingDegraded:
		e := j.shown(now, g.PCI, NVLinkDegrading)
		e.Detail = []string{why}
		return
	}
	bad := standing == nvlink.StandingPending || standing == nvlink.StandingBad
	if !l.fabric.Read(now, !bad) {
		if e := j.open[key{pci: g.PCI, class: FabricUnhealthy}]; e != nil {
			e.Watched, e.Detail = !bad, []string{cmp.Or(why, stateGood)}
		}
		return
	}
	e := j.shown(now, g.PCI, FabricUnhealthy)
	e.Watched, e.Detail = false, []string{why}
	switch {
	case standing != nvlink.StandingPending:
		e.Held = false
	case nvlink.Awaited(j.domain):
		e.Held = true
		e.Detail = append(e.Detail, "most of the domain is on its way as well")
	default:
		if e.Held = len(j.domain) == 0 && !j.awaited(g); e.Held {
			e.Detail = append(e.Detail, "no program waits for it, and no other GPU of the node has got there")
		}
	}
}

// awaited says whether anybody needs a fabric that is still on its way: a program
// on the GPU, or the node's other GPUs, which have got there. Without either it
// may be a node whose partitions nobody has made yet.
func (j *Judge) awaited(g GPUState) bool {
	if g.Processes != nil && *g.Processes > 0 {
		return true
	}
	for pci, d := range j.devices {
		r := d.Links.last
		if pci != g.PCI && r != nil && completed(r.Fabric) {
			return true
		}
	}
	return false
}

// reachDown lets all links that are down speak together: one link, one GPU, a
// switch or the tray. What would need the neighbours to be sure is held.
func (j *Judge) reachDown() {
	reach := j.broken().Judge(j.shape(), j.domain)
	for k, e := range j.open {
		d := j.devices[k.pci]
		if k.class != LinksDown || d == nil || d.Links.last == nil {
			continue
		}
		if e.Watched = len(d.Links.down) == 0; e.Watched {
			e.Detail = []string{stateGood}
		} else {
			e.Detail = []string{downText(d.Links.down) + " down", reach.Why}
			e.Reach, e.Held = extents[reach.Extent], !reach.Sure || reach.Extent == nvlink.ExtentDomain && !j.cfg.SwitchActs
		}
	}
}

// stateGood says that links or fabric are in order again.
var stateGood = fmt.Sprintf("all is up again, and watched until it has been for %v", steadyFor)

// refineState adds what the state of links and fabric says to a verdict.
func refineState(e *episode, v *Verdict) []string {
	v.Radius, v.Watched = max(v.Radius, e.Reach), e.Watched
	if e.Held {
		v.Action, v.Later, v.Drain, v.Diag = Hold, None, DrainNever, 0
		v.Elsewhere = e.Reach == Domain
	}
	return e.Detail
}

// broken gathers what is wrong with the node's links: those that are down and
// explained by nothing else.
func (j *Judge) broken() nvlink.Failure {
	f := nvlink.Failure{Down: map[nvlink.Address][]nvlink.Wire{}, Links: map[nvlink.Address]int{}}
	for pci, d := range j.devices {
		if d.Links.Expected > 0 {
			f.Links[nvlink.Address(pci)] = d.Links.Expected
		}
		if open := j.open[key{pci: pci, class: LinksDown}]; open != nil && open.Root == nil && len(d.Links.down) > 0 {
			f.Down[nvlink.Address(pci)] = d.Links.down
		}
	}
	return f
}

// extents gives the radius of an extent.
var extents = map[nvlink.Extent]Radius{nvlink.ExtentLink: GPU, nvlink.ExtentGPU: GPU, nvlink.ExtentBaseboard: Baseboard,
	nvlink.ExtentTray: Node, nvlink.ExtentDomain: Domain}

// shape is the topology, of nothing known where there is none.
func (j *Judge) shape() nvlink.Topology {
	if t := j.topology(); t != nil {
		return *t
	}
	return nvlink.Topology{}
}
