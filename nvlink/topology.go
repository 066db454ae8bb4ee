package nvlink

import (
	"fmt"
	"slices"
)

// Topology says which GPUs a node has and which of them NVLink ties together.
// One that is known by name has the structure only: any GPU that is heard of
// belongs to it.
type Topology struct {
	// Name is the named topology's, or that of the file it was read from.
	Name string
	// Generation of NVLink, 0 for none.
	Generation int
	// Count is how many GPUs the node has, 0 where that is not known; Links how
	// many NVLinks each has.
	Count, Links int
	// GPUs are the node's GPUs, where they are known by address.
	GPUs []Address
	// Baseboards are the groups of GPUs that share NVSwitches; OneBaseboard says
	// that all of the node do. Neither: no switch is on the node.
	Baseboards   [][]Address
	OneBaseboard bool
	// Trays is how many compute trays the NVLink domain has that this node is
	// one of; 0 where it is in none, or where that is not known.
	Trays int
	// Domain names the NVLink domain that the node says it is in: cluster UUID,
	// a dot, and clique, as the label nvidia.com/gpu.clique has them.
	Domain string
}

// MultiNode says whether NVLink reaches beyond the node.
func (t Topology) MultiNode() bool { return t.Trays > 0 || t.Domain != "" }

// named are the machines whose structure the name tells.
var named = [...]Topology{
	{Name: "hgx-h100", Generation: 4, Count: 8, Links: 18, OneBaseboard: true},
	{Name: "hgx-b200", Generation: 5, Count: 8, Links: 18, OneBaseboard: true},
	// The rack's switches are in trays of their own.
	{Name: "gb200-nvl72", Generation: 5, Count: 4, Links: 18, Trays: 18},
	{Name: "gb300-nvl72", Generation: 5, Count: 4, Links: 18, Trays: 18},
	{Name: "pcie"},
}

// Named finds a topology by name.
func Named(name string) (Topology, bool) {
	i := slices.IndexFunc(named[:], func(t Topology) bool { return t.Name == name })
	if i < 0 {
		return Topology{}, false
	}
	return named[i], true
}

// TopologyNames gives the names that Named knows.
func TopologyNames() []string {
	var names []string
	for _, t := range named {
		names = append(names, t.Name)
	}
	return names
}

// Node gives the node's GPUs, sorted: those that the topology lists and those
// that were heard of.
func (t Topology) Node(heard []Address) []Address {
	return sorted(slices.Concat(t.GPUs, heard))
}

// Baseboard gives the GPUs that share NVSwitches with one, itself among them,
// sorted; nil where none do.
func (t Topology) Baseboard(gpu Address, heard []Address) []Address {
	if t.OneBaseboard {
		return t.Node(append(slices.Clone(heard), gpu))
	}
	for _, board := range t.Baseboards {
		if slices.Contains(board, gpu) {
			return sorted(board)
		}
	}
	return nil
}

// fills says whether GPUs are all of a baseboard, as far as it is known how many that
// has.
func (t Topology) fills(gpus []Address) bool {
	if t.OneBaseboard {
		return t.count() > 1 && len(gpus) >= t.count()
	}
	return slices.ContainsFunc(t.Baseboards, func(board []Address) bool {
		return len(board) > 1 && !slices.ContainsFunc(board, func(a Address) bool { return !slices.Contains(gpus, a) })
	})
}

// Switched gives the GPUs that some NVSwitch of the node may carry, sorted, and
// is false where the node has none. Which switch carries which is not known.
func (t Topology) Switched(heard []Address) ([]Address, bool) {
	if t.OneBaseboard {
		return t.Node(heard), true
	}
	return sorted(slices.Concat(t.Baseboards...)), len(t.Baseboards) > 0
}

// String describes the topology in a line.
func (t Topology) String() string {
	text := t.Name
	if n := t.count(); n > 0 {
		text += fmt.Sprintf(", %d GPUs", n)
	}
	switch {
	case t.Generation > 0:
		text += fmt.Sprintf(", NVLink %d", t.Generation)
	default:
		text += ", no NVLink"
	}
	switch {
	case t.OneBaseboard || len(t.Baseboards) == 1:
		text += ", one baseboard"
	case len(t.Baseboards) > 1:
		text += fmt.Sprintf(", %d baseboards", len(t.Baseboards))
	default:
		text += ", no NVSwitch on the node"
	}
	if t.Trays > 0 {
		text += fmt.Sprintf(", one of %d trays in its domain", t.Trays)
	}
	if t.Domain != "" {
		text += ", domain " + t.Domain
	}
	return text
}

func (t Topology) count() int { return max(t.Count, len(t.GPUs)) }
