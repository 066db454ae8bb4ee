package nvlink

// Platform is where a GPU sits, as NVML's platform info tells it (driver 560 and
// later).
type Platform struct {
	// Chassis is the rack's serial number; empty outside of racks.
	Chassis string `json:"chassis,omitempty"`
	// Slot counts compute and switch trays, Tray compute trays only.
	Slot int `json:"slot"`
	Tray int `json:"tray"`
	// Host is the node's number in its slot, Module the GPU's on its node.
	Host   int `json:"host"`
	Module int `json:"module"`
	// Switched: the far ends are switches, and not the peers directly.
	Switched bool `json:"switched,omitempty"`
}

// Racked says whether the GPU is part of a rack whose trays share an NVLink
// domain.
func (p *Platform) Racked() bool { return p != nil && p.Chassis != "" && p.Switched }
