package nvlink

import (
	"cmp"
	"fmt"
	"slices"
)

// End is what a link leads to.
type End struct {
	Kind Remote `json:"kind"`
	// Address is its PCI address; nil where it has none on this host.
	Address *Address `json:"address,omitempty"`
	// Name is what the site calls it; empty where the site does not say.
	Name string `json:"name,omitempty"`
}

// String names the end as well as it is known.
func (e End) String() string {
	switch {
	case e.Name != "":
		return e.Name
	case e.Address != nil:
		return e.Kind.String() + " " + e.Address.String()
	}
	return e.Kind.String()
}

// Wire is one link of a GPU and where it leads.
type Wire struct {
	Link  int   `json:"link"`
	State State `json:"state"`
	To    End   `json:"to"`
}

// NodeGPU is a GPU with its links.
type NodeGPU struct {
	Address    Address `json:"pci"`
	UUID       string  `json:"uuid,omitempty"`
	Generation int     `json:"generation,omitempty"`
	Links      []Wire  `json:"links"`
	// Fabric and Platform are nil where the driver does not tell.
	Fabric   *Fabric   `json:"fabric,omitempty"`
	Platform *Platform `json:"platform,omitempty"`
}

// Node is a node's NVLinks, as its GPUs report them or as a model has them.
type Node struct {
	// Model is the model's name; empty for a node that was asked.
	Model string    `json:"model,omitempty"`
	GPUs  []NodeGPU `json:"gpus"`
}

// GPUReport is what one GPU says.
type GPUReport struct {
	Address Address
	UUID    string
	Reading Reading
}

// Build makes the node from what its GPUs report. Names are what the site calls
// the switch that a link of each number leads to; nothing of it is assumed.
func Build(reports []GPUReport, names map[int]string) Node {
	n := Node{GPUs: []NodeGPU{}}
	for _, r := range reports {
		g := NodeGPU{Address: r.Address, UUID: r.UUID, Generation: r.Reading.Generation, Links: []Wire{},
			Fabric: r.Reading.Fabric, Platform: r.Reading.Platform}
		for _, l := range r.Reading.Links {
			w := Wire{Link: l.Index, State: l.State, To: End{Kind: l.Remote, Address: l.Peer}}
			if l.Remote == RemoteSwitch {
				w.To.Name = names[l.Index]
			}
			g.Links = append(g.Links, w)
		}
		n.GPUs = append(n.GPUs, g)
	}
	slices.SortFunc(n.GPUs, func(a, b NodeGPU) int { return compareAddresses(a.Address, b.Address) })
	return n
}

// Ends gives the different ends that links lead to, sorted.
func (n Node) Ends() []End {
	byText := map[string]End{}
	for _, g := range n.GPUs {
		for _, w := range g.Links {
			byText[w.To.String()] = w.To
		}
	}
	ends := make([]End, 0, len(byText))
	for _, e := range byText {
		ends = append(ends, e)
	}
	slices.SortFunc(ends, func(a, b End) int { return cmp.Compare(a.String(), b.String()) })
	return ends
}

// Domain names the NVLink domain and partition that the GPUs say they are in;
// empty for none. GPUs of two partitions give the first's.
func (n Node) Domain() string {
	for _, g := range n.GPUs {
		if g.Fabric != nil && g.Fabric.Domain() != "" {
			return g.Fabric.Domain()
		}
	}
	return ""
}

// Racked says whether the node is a tray of a rack.
func (n Node) Racked() bool {
	return n.Domain() != "" || slices.ContainsFunc(n.GPUs, func(g NodeGPU) bool { return g.Platform.Racked() })
}

// Topology gives the node's structure: who shares switches with whom. Switches
// that the host sees make a baseboard of the GPUs that reach them; those that it
// does not see are one baseboard's, or the rack's where the node is in one.
func (n Node) Topology() Topology {
	if t, ok := Named(n.Model); ok {
		return t
	}
	t := Topology{Name: "as reported", Count: len(n.GPUs), Domain: n.Domain()}
	var boards [][]Address
	seen := map[Address]int{} // a switch's board
	switched := false
	for _, g := range n.GPUs {
		t.GPUs = append(t.GPUs, g.Address)
		t.Generation = max(t.Generation, g.Generation)
		for _, w := range g.Links {
			if w.To.Kind != RemoteSwitch {
				continue
			}
			switched = true
			if w.To.Address == nil {
				continue
			}
			board, known := seen[*w.To.Address]
			if !known {
				board = boardOf(&boards, g.Address)
				seen[*w.To.Address] = board
			}
			if !slices.Contains(boards[board], g.Address) {
				boards[board] = append(boards[board], g.Address)
			}
		}
	}
	switch {
	case !switched || n.Racked():
	case len(boards) > 1:
		t.Baseboards = boards
	default:
		t.OneBaseboard = true
	}
	return t
}

// boardOf finds the board of a GPU, or begins one.
func boardOf(boards *[][]Address, gpu Address) int {
	i := slices.IndexFunc(*boards, func(b []Address) bool { return slices.Contains(b, gpu) })
	if i < 0 {
		*boards = append(*boards, nil)
		i = len(*boards) - 1
	}
	return i
}

// Model gives a named machine as a node with every link up. Where the rack is
// and which link leads to which switch, no name tells.
func Model(name string) (Node, error) {
	t, ok := Named(name)
	if !ok {
		return Node{}, fmt.Errorf("model %q: not one of %q", name, TopologyNames())
	}
	n := Node{Model: t.Name, GPUs: []NodeGPU{}}
	for i := range t.Count {
		g := NodeGPU{Address: Address{Bus: uint8(i + 1)}, Generation: t.Generation, Links: []Wire{}}
		for link := range t.Links {
			g.Links = append(g.Links, Wire{Link: link, State: Active, To: End{Kind: RemoteSwitch}})
		}
		n.GPUs = append(n.GPUs, g)
	}
	return n, nil
}
