package nvlink

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Address is a PCI address: of a GPU, or of a switch that the host has.
type Address struct {
	Domain uint32
	Bus    uint8
	Device uint8
}

// String writes domain:bus:device in lower-case hex, as kernel lines do.
func (a Address) String() string { return fmt.Sprintf("%04x:%02x:%02x", a.Domain, a.Bus, a.Device) }

// MarshalText writes the address as String does.
func (a Address) MarshalText() ([]byte, error) { return []byte(a.String()), nil }

// UnmarshalText reads what MarshalText writes.
func (a *Address) UnmarshalText(text []byte) error {
	parts := strings.Split(string(text), ":")
	if len(parts) != 3 {
		return fmt.Errorf("PCI address %q: not domain:bus:device", text)
	}
	var n [3]uint64
	for i, bits := range [3]int{32, 8, 8} {
		v, err := strconv.ParseUint(parts[i], 16, bits)
		if err != nil {
			return fmt.Errorf("PCI address %q: %w", text, err)
		}
		n[i] = v
	}
	*a = Address{uint32(n[0]), uint8(n[1]), uint8(n[2])}
	return nil
}

func compareAddresses(a, b Address) int {
	return cmp.Or(cmp.Compare(a.Domain, b.Domain), cmp.Compare(a.Bus, b.Bus), cmp.Compare(a.Device, b.Device))
}

// sorted gives the addresses in order, each once, in a slice of its own.
func sorted(as []Address) []Address {
	as = slices.Clone(as)
	slices.SortFunc(as, compareAddresses)
	return slices.Compact(as)
}
