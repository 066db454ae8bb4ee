package nvlink

import (
	"fmt"
	"slices"
	"strings"
)

// In a rack a tray cannot tell by itself whether it, a switch or the whole rack is
// broken. What is here judges by what the neighbours say: more of them must say it
// than do not, so that no single one can make a switch of it.

// switched finds the switch of the rack behind links that errors say went down: it
// took the same ones from every GPU of the tray, or from most neighbours.
func (f Failure) switched(t Topology, heard []Summary) (Reach, bool) {
	fallen := f.fallen()
	if !t.MultiNode() || len(fallen.Down) == 0 {
		return Reach{}, false
	}
	if links, _ := fallen.Brief(); len(links) > 0 {
		return fallen.down(t, heard), true
	}
	for _, wires := range fallen.Down {
		for _, w := range wires {
			if alike := saying(heard, lacks(w.Link)); most(alike, heard) {
				return ofDomain(fmt.Sprintf("link %d went down", w.Link)), true
			}
		}
	}
	return Reach{}, false
}

// fallen adds the links that errors say went down to those that polls found down.
// An error that names no link is about all of its GPU's.
func (f Failure) fallen() Failure {
	down := map[Address][]Wire{}
	for gpu, wires := range f.Down {
		down[gpu] = slices.Clone(wires)
	}
	for _, e := range f.Errors {
		if !e.Root || e.XID != 149 {
			continue
		}
		for link := range max(f.Links[e.GPU], e.Link+1) {
			if e.Link < 0 || e.Link == link {
				down[e.GPU] = append(down[e.GPU], Wire{Link: link, State: Inactive, To: End{Kind: RemoteSwitch}})
			}
		}
	}
	for gpu := range down {
		slices.SortFunc(down[gpu], func(a, b Wire) int { return a.Link - b.Link })
		down[gpu] = slices.CompactFunc(down[gpu], func(a, b Wire) bool { return a.Link == b.Link })
	}
	return Failure{Down: down, Links: f.Links}
}

// Brief gives the links that are down on every GPU of the node, by polls or by
// errors, and whether those are all.
func (f Failure) Brief() (links []int, all bool) {
	f = f.fallen()
	var gpus []Address
	all = true
	for gpu, expected := range f.Links {
		gpus = append(gpus, gpu)
		all = all && len(f.Down[gpu]) >= expected
	}
	if len(gpus) < 2 {
		return nil, false
	}
	return f.shared(gpus), all
}

// echoed looks for the root of what only saw a far end fail.
func echoed(t Topology, heard []Summary, seen string) Reach {
	r := Reach{Extent: ExtentGPU, Victim: true, Why: seen + ", and nobody claims it"}
	if !t.MultiNode() {
		return r
	}
	for _, s := range heard {
		for _, link := range s.Down {
			if alike := saying(heard, lacks(link)); most(alike, heard) && len(alike) > 1 {
				r = ofDomain(fmt.Sprintf("%s: link %d", seen, link))
				r.Victim = true
				return r
			}
		}
	}
	claim := saying(heard, Summary.claims)
	silent := saying(heard, Summary.Quiet)
	switch {
	case len(heard) == 0:
		r.Why = seen + "; no neighbour is heard, the domain is unknown"
	case len(claim) > 0:
		r.Root, r.Sure, r.Why = claim[0], true, "the root is on "+strings.Join(claim[:min(3, len(claim))], ", ")
	case len(silent) == 1:
		r.Root, r.Why = silent[0], seen+", nobody claims it, and "+silent[0]+" alone says nothing: it is suspected"
	}
	return r
}

// allDown judges a node without any NVLink.
func allDown(t Topology, gpus []Address, heard []Summary) Reach {
	r := Reach{Extent: ExtentTray, GPUs: gpus, Sure: true, Why: "every GPU of the node has lost its NVLinks"}
	alike := saying(heard, func(s Summary) bool { return s.AllDown })
	switch {
	case !t.MultiNode():
		if t.OneBaseboard {
			r.Extent = ExtentBaseboard
		}
	case len(heard) == 0:
		r.Sure, r.Why = false, r.Why+"; no neighbour is heard, the domain is unknown"
	case most(alike, heard):
		return ofDomain("no GPU of the node has NVLink")
	default:
		r.whileTraining(heard)
	}
	return r
}

// oneSwitch judges the same links down on every GPU. That the number is the
// switch is likely; the neighbours make it sure.
func (f Failure) oneSwitch(t Topology, gpus []Address, links []int, heard []Summary) Reach {
	r := Reach{Extent: ExtentTray, Ends: f.ends(gpus), Sure: true, Why: sameDown(links)}
	alike := saying(heard, lacks(links...))
	switch {
	case !t.MultiNode():
		r.Extent = ExtentBaseboard
		r.Why += ": most likely a switch of the baseboard"
	case len(heard) == 0:
		r.Sure, r.Why = false, r.Why+": likely a switch of the rack; no neighbour is heard, the domain is unknown"
	case most(alike, heard):
		ends := r.Ends
		r = ofDomain(r.Why)
		r.Ends = ends
	default:
		r.GPUs, r.Why = gpus, r.Why+" of this tray, and not on most neighbours"
		r.whileTraining(heard)
	}
	return r
}

// sameDown says in words which links are down on every GPU.
func sameDown(links []int) string {
	if len(links) == 1 {
		return fmt.Sprintf("link %d is down on every GPU", links[0])
	}
	return fmt.Sprintf("links %s are down on every GPU", Numbers(links))
}

// ofDomain is a fault of a switch, or of the whole rack.
func ofDomain(why string) Reach {
	return Reach{Extent: ExtentDomain, Sure: true,
		Why: why + ", and so it is on most neighbours: a switch of the rack, or all of it"}
}

// whileTraining takes the certainty from what is down while most of the domain is
// on its way up.
func (r *Reach) whileTraining(heard []Summary) {
	if Awaited(heard) {
		r.GPUs, r.Sure, r.Why = nil, false, r.Why+"; most of the domain is on its way up"
	}
}

// Awaited says whether most neighbours are on their way up as well, or have not got
// there in their time.
func Awaited(heard []Summary) bool {
	return most(saying(heard, func(s Summary) bool { return s.Training || s.AllDown }), heard)
}

// lacks finds those that have any of the links down on every GPU.
func lacks(links ...int) func(Summary) bool {
	return func(s Summary) bool {
		return s.AllDown || slices.ContainsFunc(links, func(n int) bool { return slices.Contains(s.Down, n) })
	}
}

// saying names the neighbours that say something.
func saying(heard []Summary, it func(Summary) bool) (nodes []string) {
	for _, s := range heard {
		if it(s) {
			nodes = append(nodes, s.Node)
		}
	}
	return nodes
}

// most says whether some are at least half of all that are heard.
func most(some []string, heard []Summary) bool {
	return len(some) > 0 && 2*len(some) >= len(heard)
}
