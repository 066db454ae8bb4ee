package fault

import (
	"slices"

	"github.com/gpuhealthd/gpuhealthd/nvlink"
	"github.com/gpuhealthd/gpuhealthd/xidparse"
)

// reach names the devices that the verdict is about.
func (j *Judge) reach(e *episode, v *Verdict) {
	if e.Workload != (Workload{}) {
		j.reachWorkload(e, v)
		return
	}
	self := j.named(e.PCI)
	v.GPUs, v.Affected, v.Victims = []Device{self}, []Device{self}, []Device{}
	if e.PCI == (xidparse.PCI{}) || e.Class.IsSXid() {
		v.GPUs, v.Affected = []Device{}, []Device{}
	}
	for _, pci := range e.Unreset {
		v.GPUs = append(v.GPUs, j.named(pci))
	}
	switch {
	case v.Radius >= Node:
		v.Affected = j.now.node
	case v.Radius == Baseboard:
		j.baseboard(e, v)
	}
	if e.Class == DriverHung && e.PCI == (xidparse.PCI{}) && e.Polled {
		v.GPUs = v.Affected
	}
	v.Victims = append(v.Victims, j.now.victims[e.key()]...)
	sortDevices(v.Victims)
	v.Victims = slices.Compact(v.Victims)
}

// present is what every verdict of one moment is made from: it is gathered
// once, since a log of many nodes may name thousands of GPUs.
type present struct {
	// known are the GPUs that were named, node those of the node.
	known, node []Device
	// victims are the GPUs that only echo, by their root.
	victims map[key][]Device
	// reaches is how far each link error reaches, latest how far the newest of NVLink 5
	// does.
	reaches map[key]nvlink.Reach
	latest  nvlink.Reach
}

// gather makes the present anew.
func (j *Judge) gather() {
	j.now = present{known: append([]Device{}, j.Devices()...), victims: map[key][]Device{}}
	if j.now.node = j.now.known; j.cfg.Topology != nil {
		j.now.node = j.all(j.cfg.Topology.Node(j.heardOf()))
	}
	j.now.reaches, j.now.latest = j.reaches()
	for _, e := range j.open {
		root := j.rootOf(e)
		if root != nil && e.PCI != root.PCI && !e.Class.IsSXid() && e.PCI != (xidparse.PCI{}) {
			j.now.victims[root.key()] = append(j.now.victims[root.key()], j.named(e.PCI))
		}
	}
}

// named gives a device with its UUID, where that is known.
func (j *Judge) named(pci xidparse.PCI) Device {
	d := Device{PCI: pci}
	if known := j.devices[pci]; known != nil {
		d.UUID = known.UUID
	}
	return d
}

// baseboard names the GPUs that share NVSwitches with an episode's device. A
// GPU that shares none is by itself; a switch that is on no board is the node's.
func (j *Judge) baseboard(e *episode, v *Verdict) {
	t := j.topology()
	switch {
	case t == nil:
		v.Affected = j.now.known
	case e.Class.IsSXid() || e.PCI == (xidparse.PCI{}):
		gpus, ok := t.Switched(j.heardOf())
		if v.Affected = j.all(gpus); !ok {
			v.Radius, v.Affected = Node, j.now.node
		}
	default:
		if board := t.Baseboard(nvlink.Address(e.PCI), j.heardOf()); len(board) > 0 {
			v.Affected = j.all(board)
		} else {
			v.Radius = GPU
		}
	}
}

// heardOf gives the addresses of every GPU that was named.
func (j *Judge) heardOf() []nvlink.Address {
	var as []nvlink.Address
	for pci := range j.devices {
		as = append(as, nvlink.Address(pci))
	}
	return as
}

// all gives devices with their UUIDs, where those are known.
func (j *Judge) all(as []nvlink.Address) []Device {
	ds := make([]Device, len(as))
	for i, a := range as {
		ds[i] = j.named(xidparse.PCI(a))
	}
	return ds
}
