// Package inventory remembers which GPU is where. A kernel line names a PCI
// address, and when it says that the GPU is gone the driver can no longer be
// asked who that was: so what was once learnt is kept, on disk by the caller (the
// Map is its own JSON), and a lost GPU still has its UUID, serial and name.
//
// A GPU is its UUID. It is forgotten only when another one answers at its
// address: then the board was changed.
package inventory

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/gpuhealthd/gpuhealthd/collector/nvml"
	"github.com/gpuhealthd/gpuhealthd/xidparse"
)

// GPU is a GPU that has answered at least once.
type GPU struct {
	nvml.Identity
	// Listed: the last inventory had it under its name, well or lost.
	Listed bool `json:"listed"`
	// Lost: the last inventory said that it is off the bus.
	Lost bool `json:"lost"`
}

// Map knows GPUs by address and by UUID. The zero value is empty. No address
// and no UUID stands twice.
type Map struct {
	gpus []GPU // ordered by address
}

// Update takes in what the driver says now and tells whether the map changed.
func (m *Map) Update(inv nvml.Inventory) (changed bool) {
	before := m.GPUs()
	for i := range m.gpus {
		m.gpus[i].Listed, m.gpus[i].Lost = false, false
	}
	for _, g := range inv.GPUs {
		if g.UUID != "" {
			m.put(GPU{Identity: g.Identity, Listed: true, Lost: g.Lost})
		}
	}
	m.nameLost(inv)
	m.sort()
	return !slices.EqualFunc(before, m.gpus, same)
}

// put replaces what stood under the same UUID or at the same address.
func (m *Map) put(g GPU) {
	m.gpus = slices.DeleteFunc(m.gpus, func(old GPU) bool { return old.UUID == g.UUID || old.PCI == g.PCI })
	m.gpus = append(m.gpus, g)
}

func (m *Map) sort() {
	slices.SortFunc(m.gpus, func(a, b GPU) int {
		if a.PCI.Less(b.PCI) {
			return -1
		}
		return 1
	})
}

// nameLost finds out who is lost when the driver lists lost GPUs but was opened
// too late to learn their names: the known ones that it does not list, if they
// are as many.
func (m *Map) nameLost(inv nvml.Inventory) {
	nameless, lost := 0, 0
	for _, g := range inv.GPUs {
		if g.UUID == "" {
			nameless++
			if g.Lost {
				lost++
			}
		}
	}
	missing := slices.DeleteFunc(m.GPUs(), func(g GPU) bool { return g.Listed })
	if nameless != lost || lost != len(missing) {
		return
	}
	for i := range m.gpus {
		if !m.gpus[i].Listed {
			m.gpus[i].Listed, m.gpus[i].Lost = true, true
		}
	}
}

func same(a, b GPU) bool {
	minors := a.Minor == b.Minor || (a.Minor != nil && b.Minor != nil && *a.Minor == *b.Minor)
	a.Minor, b.Minor = nil, nil
	return a == b && minors
}

// ByPCI gives the GPU at an address.
func (m *Map) ByPCI(pci xidparse.PCI) (GPU, bool) {
	return m.find(func(g GPU) bool { return g.PCI == pci })
}

// ByUUID gives the GPU of that UUID.
func (m *Map) ByUUID(uuid string) (GPU, bool) {
	return m.find(func(g GPU) bool { return g.UUID == uuid })
}

func (m *Map) find(match func(GPU) bool) (GPU, bool) {
	i := slices.IndexFunc(m.gpus, match)
	if i < 0 {
		return GPU{}, false
	}
	return m.gpus[i], true
}

// GPUs lists all that are known, lost ones and those no longer listed
// included, ordered by address.
func (m *Map) GPUs() []GPU { return append([]GPU{}, m.gpus...) }

// MarshalJSON writes the GPUs as a list.
func (m *Map) MarshalJSON() ([]byte, error) {
	if m.gpus == nil {
		return []byte("[]"), nil
	}
	return json.Marshal(m.gpus)
}

// UnmarshalJSON reads what MarshalJSON wrote. A GPU without a UUID, or a UUID or
// address that stands twice, is an error, and then the map is as it was.
func (m *Map) UnmarshalJSON(text []byte) error {
	var list []GPU
	if err := json.Unmarshal(text, &list); err != nil {
		return fmt.Errorf("inventory: %w", err)
	}
	var read Map
	for i, g := range list {
		if g.UUID == "" {
			return fmt.Errorf("inventory: entry %d: field uuid is empty", i)
		}
		read.put(g)
		if len(read.gpus) != i+1 {
			return fmt.Errorf("inventory: entry %d: UUID %s or address %s stands twice", i, g.UUID, g.PCI)
		}
	}
	read.sort()
	*m = read
	return nil
}
