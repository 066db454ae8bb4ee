package fault

import "fmt"

// Action is what a verdict asks for: the strongest step of the present rung.
// The order of the constants is the order of strength.
type Action uint8

// The actions. Reset, Reboot and Replace imply a cordon; Hold never cordons.
const (
	// None: nothing is wrong any more.
	None Action = iota
	// Record: remember it, tell it, change nothing.
	Record
	// Restart the process or pod: its owner does that, or the agent where the verdict
	// names the pod.
	Restart
	// Hold for a person; the node goes on as it is.
	Hold
	// Cordon the node and wait.
	Cordon
	// Diag runs DCGM diagnostics at the verdict's level.
	Diag
	// Reset the GPU.
	Reset
	// Reboot the host.
	Reboot
	// Replace the part.
	Replace
)

var actionNames = [...]string{"none", "record", "restart", "hold", "cordon", "diag", "reset", "reboot", "replace"}

// String gives the action as the public contract spells it.
func (a Action) String() string { return name(actionNames[:], int(a)) }

// Cordons says whether the action takes the node out of service.
func (a Action) Cordons() bool { return a >= Cordon }

// MarshalText writes the action as String does.
func (a Action) MarshalText() ([]byte, error) { return []byte(a.String()), nil }

// UnmarshalText reads what MarshalText writes.
func (a *Action) UnmarshalText(text []byte) error {
	i, err := index("action", actionNames[:], text)
	*a = Action(i)
	return err
}

// Radius is how far a fault reaches. The order is the order of reach.
type Radius uint8

// The radii. A single NVLink is its GPU; an NVL72 compute tray is a node; an
// NVL72 switch tray is the domain.
const (
	Process Radius = iota
	MIG
	GPU
	Baseboard
	Node
	Domain
)

var radiusNames = [...]string{"process", "mig", "gpu", "baseboard", "node", "domain"}

// String gives the radius as the public contract spells it.
func (r Radius) String() string { return name(radiusNames[:], int(r)) }

// MarshalText writes the radius as String does.
func (r Radius) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// UnmarshalText reads what MarshalText writes.
func (r *Radius) UnmarshalText(text []byte) error {
	i, err := index("radius", radiusNames[:], text)
	*r = Radius(i)
	return err
}

// Drain says when the work inside the radius has to leave.
type Drain uint8

// The drains.
const (
	DrainNever Drain = iota
	DrainWhenIdle
	DrainNow
)

var drainNames = [...]string{"never", "when-idle", "now"}

// String gives the drain's name.
func (d Drain) String() string { return name(drainNames[:], int(d)) }

// MarshalText writes the drain as String does.
func (d Drain) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText reads what MarshalText writes.
func (d *Drain) UnmarshalText(text []byte) error {
	i, err := index("drain", drainNames[:], text)
	*d = Drain(i)
	return err
}

func name(names []string, i int) string {
	if i < len(names) {
		return names[i]
	}
	return fmt.Sprintf("invalid(%d)", i)
}

func index(what string, names []string, text []byte) (int, error) {
	for i, n := range names {
		if n == string(text) {
			return i, nil
		}
	}
	return 0, fmt.Errorf("%s %q: not one of %q", what, text, names)
}
