package fault

import "github.com/gpuhealthd/gpuhealthd/xidparse"

// The classes that codes fall into which no catalogue has, once a device has
// printed too many of them: such a log is garbled, and each code of it is no
// fault of its own.
const (
	OtherXID  Class = "xid-other"
	OtherSXid Class = "sxid-other"
)

const (
	// maxUnknown bounds the open episodes of codes without a catalogue's row, by
	// device. A driver that is newer than the catalogue brings two or three.
	maxUnknown = 8
	// maxDevices is above the GPUs and switches of any node.
	maxDevices = 128
)

// bounded gives the class under which a line is kept.
func (j *Judge) bounded(pci xidparse.PCI, c Class) Class {
	if j.open[key{pci: pci, class: c}] != nil || c.Known() {
		return c
	}
	unknown := 0
	for _, e := range j.open {
		if e.PCI == pci && !e.rule.known {
			unknown++
		}
	}
	switch {
	case unknown < maxUnknown:
		return c
	case c.IsSXid():
		return OtherSXid
	}
	return OtherXID
}

// crowded says whether an address is one too many: no node has so many devices,
// so it is the text that is garbled.
func (j *Judge) crowded(pci xidparse.PCI) bool {
	if len(j.open)+len(j.devices) < maxDevices || j.devices[pci] != nil {
		return false
	}
	seen := map[xidparse.PCI]bool{}
	for pci := range j.devices {
		seen[pci] = true
	}
	for _, e := range j.open {
		seen[e.PCI] = true
	}
	return len(seen) >= maxDevices && !seen[pci]
}
