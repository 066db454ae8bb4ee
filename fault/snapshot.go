package fault

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/gpuhealthd/gpuhealthd/nvlink"
	"github.com/gpuhealthd/gpuhealthd/serving"
	"github.com/gpuhealthd/gpuhealthd/xidparse"
)

// snapshot is the saved form of a Judge.
type snapshot struct {
	Boot   string
	Serial int
	Driver int
	// Switchless is as in Judge.
	Switchless bool `json:",omitempty"`
	// Links is how the NVLinks were.
	Links LinkState `json:",omitempty"`
	// Reported is who is wired to whom, as the node said last.
	Reported *nvlink.Topology `json:",omitempty"`
	// Blamed is the root; Heard, Managed and IMEX are as in Judge.
	Heard   []neighbour `json:",omitempty"`
	Blamed  blamed      `json:",omitzero"`
	Managed bool        `json:",omitempty"`
	IMEX    imex        `json:",omitzero"`
	// Serving is what serving engines have said.
	Serving *serving.Watch `json:",omitempty"`
	// Pairs are as in Judge.
	Pairs   *serving.Pairs `json:",omitempty"`
	Open    []*episode
	Said    []Verdict
	Past    []pastEntry
	Devices []deviceEntry
}

type pastEntry struct {
	Ref episodeRef
	past
}

// neighbour is a summary with the name that its text does not have.
type neighbour struct {
	Name string
	nvlink.Summary
}

type deviceEntry struct {
	PCI xidparse.PCI
	device
}

// Snapshot gives the judge's whole memory as JSON.
func (j *Judge) Snapshot() ([]byte, error) {
	s := snapshot{Boot: j.boot, Serial: j.serial, Driver: j.driver, Switchless: j.switchless, Reported: j.reported, Links: j.links, Blamed: j.root, Managed: j.managed, IMEX: j.imex, Serving: j.watch, Pairs: j.pairs}
	for _, n := range j.domain {
		s.Heard = append(s.Heard, neighbour{n.Node, n})
	}
	for _, e := range j.ordered() {
		s.Open = append(s.Open, e)
		s.Said = append(s.Said, e.said)
	}
	for k, p := range j.past {
		s.Past = append(s.Past, pastEntry{episodeRef{PCI: k.pci, Class: k.class}, p})
	}
	for pci, d := range j.devices {
		s.Devices = append(s.Devices, deviceEntry{pci, *d})
	}
	slices.SortFunc(s.Past, func(a, b pastEntry) int {
		return cmp.Or(comparePCI(a.Ref.PCI, b.Ref.PCI), cmp.Compare(a.Ref.Class, b.Ref.Class))
	})
	slices.SortFunc(s.Devices, func(a, b deviceEntry) int { return comparePCI(a.PCI, b.PCI) })
	data, err := json.Marshal(s)
	if err != nil {
		return nil, fmt.Errorf("save the judge: %w", err)
	}
	return data, nil
}

// Restore makes a judge from a Snapshot. What the last poll said is not kept:
// the present is asked again.
func Restore(cfg Config, data []byte) (*Judge, error) {
	j := New(cfg)
	s := snapshot{Serving: j.watch, Pairs: j.pairs}
	if err := json.Unmarshal(data, &s); err != nil {
		return nil, fmt.Errorf("read the judge's snapshot: %w", err)
	}
	j.boot, j.serial, j.driver, j.switchless, j.reported = s.Boot, s.Serial, s.Driver, s.Switchless, s.Reported
	j.links, j.root, j.managed, j.imex = s.Links, s.Blamed, s.Managed, s.IMEX
	for _, n := range s.Heard {
		n.Summary.Node = n.Name
		j.domain = append(j.domain, n.Summary)
	}
	for i, e := range s.Open {
		if i < len(s.Said) {
			e.said = s.Said[i]
		}
		e.rule = RuleFor(e.Class)
		j.open[e.key()] = e
	}
	for _, p := range s.Past {
		j.past[p.Ref.key()] = p.past
	}
	for _, d := range s.Devices {
		dev := d.device
		j.devices[d.PCI] = &dev
	}
	return j, nil
}
