package fault

import (
	"github.com/gpuhealthd/gpuhealthd/nvlink"
	"github.com/gpuhealthd/gpuhealthd/xidparse"
)

// reach names the devices that the verdict is about.
func (j *Judge) reach(e *episode, v *Verdict) {
	self := j.named(e.PCI)
	v.GPUs, v.Affected, v.Victims = []Device{self}, []Device{self}, []Device{}
	if e.PCI == (xidparse.PCI{}) || e.Class.IsSXid() {
		v.GPUs, v.Affected = []Device{}, []Device{}
	}
	switch {
	case v.Radius >= Node:
		v.Affected = j.node()
	case v.Radius == Baseboard:
		j.baseboard(e, v)
	}
	if e.PCI == (xidparse.PCI{}) && v.Acts() {
		v.GPUs = v.Affected
	}
	for _, other := range j.open {
		if other.PCI != e.PCI && j.rootOf(other) == e && !other.Class.IsSXid() && other.PCI != (xidparse.PCI{}) {
			v.Victims = append(v.Victims, j.named(other.PCI))
		}
	}
	sortDevices(v.Victims)
}

// named gives a device with its UUID, where that is known.
func (j *Judge) named(pci xidparse.PCI) Device {
	d := Device{PCI: pci}
	if known := j.devices[pci]; known != nil {
		d.UUID = known.UUID
	}
	return d
}

// node gives the GPUs of the node, those that only the topology knows too.
func (j *Judge) node() []Device {
	if j.cfg.Topology == nil {
		return j.Devices()
	}
	return j.all(j.cfg.Topology.Node(j.heardOf()))
}

// baseboard names the GPUs that share NVSwitches with an episode's device. A
// GPU that shares none is by itself; a switch that is on no board is the node's.
func (j *Judge) baseboard(e *episode, v *Verdict) {
	t := j.cfg.Topology
	switch {
	case t == nil:
		v.Affected = j.Devices()
	case e.Class.IsSXid():
		gpus, ok := t.Switched(j.heardOf())
		if v.Affected = j.all(gpus); !ok {
			v.Radius, v.Affected = Node, j.node()
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
