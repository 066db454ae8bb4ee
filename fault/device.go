package fault

import (
	"slices"

	"github.com/gpuhealthd/gpuhealthd/xidparse"
)

// Device is a GPU, or an NVSwitch, by what survives its death. The UUID is
// empty while only the kernel log has named it. Never an index.
type Device struct {
	PCI  xidparse.PCI `json:"pci"`
	UUID string       `json:"uuid,omitempty"`
}

// String gives the UUID and the address, or the address alone.
func (d Device) String() string {
	if d.UUID == "" {
		return d.PCI.String()
	}
	return d.UUID + " (" + d.PCI.String() + ")"
}

// Compare orders devices by address.
func (d Device) Compare(o Device) int { return comparePCI(d.PCI, o.PCI) }

func sortDevices(ds []Device) { slices.SortFunc(ds, Device.Compare) }

func comparePCI(a, b xidparse.PCI) int {
	switch {
	case a.Less(b):
		return -1
	case b.Less(a):
		return 1
	}
	return 0
}
