package nvlink

import (
	"fmt"
	"slices"
)

// Extent is how far a link's failure reaches, in the order of reach.
type Extent uint8

// The extents.
const (
	// ExtentLink: one GPU and the far end of one link.
	ExtentLink Extent = iota
	ExtentGPU
	ExtentBaseboard
	// ExtentTray is the whole node.
	ExtentTray
	// ExtentDomain is a switch of the rack, and so every tray.
	ExtentDomain
)

var extentNames = [...]string{"link", "gpu", "baseboard", "tray", "domain"}

// String gives the extent's name.
func (e Extent) String() string { return nameOf(extentNames[:], int(e)) }

// LinkError is an error that a GPU reported of one of its links: an XID 144 to
// 150 that was decoded.
type LinkError struct {
	GPU  Address
	XID  int
	Link int // -1 is none by name
	// Root: its row asks for a reset, or the link went down by its own cause.
	// Otherwise it only saw the far end fail.
	Root bool
	// Peer: the row blames the far end.
	Peer bool
}

// Failure is what is wrong with a node's links at one moment.
type Failure struct {
	// Down are the links that should be up and are not, by GPU; Links is how many
	// each GPU should have up.
	Down  map[Address][]Wire
	Links map[Address]int
	// Errors are those that stand for themselves or echo.
	Errors []LinkError
	// NoManager: the fabric manager does not run where there are switches.
	// NewManager: it was started anew while GPUs went on, which leaves multicast
	// (NVLS) broken until they are reset.
	NoManager, NewManager bool
}

// Reach is how far a failure goes and who is to blame.
type Reach struct {
	Extent Extent
	// GPUs are those of this node that are to blame; none where the part that is
	// to blame is another, or not known.
	GPUs []Address
	// Ends are the far ends of the links in question, where one or a few are.
	Ends []End
	// Root is the neighbour to blame, or the one suspected; empty for none.
	Root string
	// Victim: this node only sees another's fault.
	Victim bool
	// Sure is false where the domain would have to bear it out and does not.
	Sure bool
	Why  string
}

// Judge says how far a failure of this node's links reaches. Heard is what the
// neighbours of the domain say, empty where nobody can be heard: then a switch
// of the rack is only suspected.
func (f Failure) Judge(t Topology, heard []Summary) Reach {
	if r, ok := f.manager(t); ok {
		return r
	}
	if r, ok := f.errors(t, heard); ok {
		return r
	}
	return f.down(t, heard)
}

// manager judges the fabric manager, which is the node's own where the switches
// are.
func (f Failure) manager(t Topology) (Reach, bool) {
	own := !t.MultiNode() && (t.OneBaseboard || len(t.Baseboards) > 0)
	switch {
	case !own:
		return Reach{}, false
	case f.NoManager:
		return Reach{Extent: ExtentBaseboard, Sure: true, Why: "the fabric manager does not run"}, true
	case f.NewManager:
		return Reach{Extent: ExtentBaseboard, Sure: true, Why: "the fabric manager was started anew under GPUs that went on without it: multicast (NVLS) is broken until each of them was reset"}, true
	}
	return Reach{}, false
}

// errors judges what GPUs reported: the root is to blame, not its echoes, and not who
// blames the far end.
func (f Failure) errors(t Topology, heard []Summary) (Reach, bool) {
	if len(f.Errors) == 0 {
		return Reach{}, false
	}
	if r, ok := f.switched(t, heard); ok {
		return r, true
	}
	if r, ok := f.Board(t); ok {
		return r, true
	}
	all := f.reporters(func(LinkError) bool { return true })
	roots := f.reporters(func(e LinkError) bool { return e.Root && !e.Peer })
	down := f.reporters(func(e LinkError) bool { return e.Root && !e.Peer && e.XID == 149 })
	blaming := f.reporters(func(e LinkError) bool { return e.Root && e.Peer })
	switch {
	case len(down) > 0: // a link that went down outranks those that saw it
		return Reach{Extent: ExtentGPU, GPUs: down, Sure: true, Why: ownLink}, true
	case len(roots) == 0 && len(blaming) > 0:
		return farEnd(t, heard), true
	case len(all) > 1 && t.OneBaseboard && !t.MultiNode():
		return Reach{Extent: ExtentBaseboard, GPUs: all, Sure: true, Why: fmt.Sprintf("%d GPUs of one baseboard report their links at once", len(all))}, true
	case len(roots) > 0:
		return Reach{Extent: ExtentGPU, GPUs: roots, Sure: true, Why: ownLink}, true
	}
	return echoed(t, heard, "a far end failed"), true
}

const ownLink = "the GPU's own link failed"

// reporters gives the GPUs that reported errors of a kind, sorted.
func (f Failure) reporters(kind func(LinkError) bool) (gpus []Address) {
	for _, e := range f.Errors {
		if kind(e) {
			gpus = append(gpus, e.GPU)
		}
	}
	return sorted(gpus)
}

// farEnd judges errors that all blame the far end. Where the switches are the node's
// own, that is one of them, or who is behind it; in a rack it is looked for.
func farEnd(t Topology, heard []Summary) Reach {
	const blamed = "the error blames the far end of the link"
	if !t.MultiNode() && (t.OneBaseboard || len(t.Baseboards) > 0) {
		return Reach{Extent: ExtentBaseboard, Sure: true, Why: blamed + ": an NVSwitch of the baseboard, or the GPU behind it"}
	}
	return echoed(t, heard, blamed)
}

// Board finds the switch of the node's own behind errors that ask for a reset: the same
// link has them on every GPU of a baseboard.
func (f Failure) Board(t Topology) (Reach, bool) {
	if t.MultiNode() {
		return Reach{}, false
	}
	for link := range MaxLinks {
		gpus := f.reporters(func(e LinkError) bool { return e.Root && e.Link == link })
		if t.fills(gpus) {
			return Reach{Extent: ExtentBaseboard, GPUs: gpus, Sure: true,
				Why: fmt.Sprintf("link %d has errors on every GPU: most likely a switch of the baseboard", link)}, true
		}
	}
	return Reach{}, false
}

// down judges the links that are down.
func (f Failure) down(t Topology, heard []Summary) Reach {
	var gpus []Address
	whole := true
	for gpu, wires := range f.Down {
		if len(wires) > 0 {
			gpus = append(gpus, gpu)
			whole = whole && len(wires) >= f.Links[gpu]
		}
	}
	gpus = sorted(gpus)
	every := len(gpus) > 1 && len(gpus) == len(f.Links)
	shared := f.shared(gpus)
	switch {
	case every && whole:
		return allDown(t, gpus, heard)
	case every && len(shared) > 0:
		return f.oneSwitch(t, gpus, shared, heard)
	case len(gpus) == 1 && len(f.Down[gpus[0]]) == 1:
		return Reach{Extent: ExtentLink, GPUs: gpus, Ends: f.ends(gpus), Sure: true, Why: "one link is down: its GPU or the far end"}
	}
	why := "links of the GPU are down"
	if len(gpus) > 1 {
		why = fmt.Sprintf("links of %d GPUs are down, and not the same of all", len(gpus))
	}
	return Reach{Extent: ExtentGPU, GPUs: gpus, Ends: f.ends(gpus), Sure: true, Why: why}
}

// shared gives the link numbers that are down on each of the GPUs.
func (f Failure) shared(gpus []Address) (links []int) {
	if len(gpus) == 0 {
		return nil
	}
	for _, w := range f.Down[gpus[0]] {
		everywhere := !slices.ContainsFunc(gpus, func(g Address) bool {
			return !slices.ContainsFunc(f.Down[g], func(o Wire) bool { return o.Link == w.Link })
		})
		if everywhere {
			links = append(links, w.Link)
		}
	}
	slices.Sort(links)
	return links
}

// ends gives the far ends of the links that are down, each once.
func (f Failure) ends(gpus []Address) []End {
	var n Node
	for _, g := range gpus {
		n.GPUs = append(n.GPUs, NodeGPU{Links: f.Down[g]})
	}
	return n.Ends()
}
