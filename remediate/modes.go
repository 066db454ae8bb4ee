package remediate

import (
	"maps"
	"slices"

	"github.com/gpuhealthd/gpuhealthd/fault"
)

// For gives the mode that holds for a class of fault.
func (p Policy) For(c fault.Class) Mode {
	if m, own := p.Modes[c]; own {
		return m
	}
	return p.Mode
}

// Repairs says whether anything is repaired by the agent, whatever class it is of.
func (p Policy) Repairs() bool {
	return p.Mode == Repair || slices.Contains(slices.Collect(maps.Values(p.Modes)), Repair)
}

// modes spells all modes as one, by which a change of them is seen.
func (p Policy) modes() Mode {
	all := p.Mode
	for _, c := range slices.Sorted(maps.Keys(p.Modes)) {
		all += Mode(" " + string(c) + "=" + string(p.Modes[c]))
	}
	return all
}

// mode gives the mode that holds for an incident.
func (p *Plan) mode(i *Incident) Mode { return p.policy.For(i.Verdict.Class) }
