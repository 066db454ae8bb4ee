package guard

import (
	"fmt"
	"slices"
	"time"

	"github.com/gpuhealthd/gpuhealthd/fault"
)

// families are the faults that come with a rollout, of a driver, a firmware, a
// package or a fabric, or with a rack that is switched on. The classes of one
// family are one thing seen in several ways.
var families = map[string][]fault.Class{
	"links":  {fault.LinksDown, fault.FabricUnhealthy, fault.FabricManagerDead, fault.IMEXDown},
	"driver": {fault.DriverMismatch, fault.InitFailed},
	"blind":  {fault.AgentBlind},
	"gsp":    {fault.XID119, fault.XID120, fault.GSPTimeout},
}

// Family gives the classes that count as one outbreak with a class; none where it
// does not come with rollouts.
func Family(c fault.Class) []fault.Class {
	for _, classes := range families {
		if slices.Contains(classes, c) {
			return classes
		}
	}
	return nil
}

// outbreak holds what is done about a fault that many nodes have caught within
// one window. It goes by those that still show it: one that is over holds nothing,
// and one that lasts is held for as long as it does.
func (r Rules) outbreak(f Facts, a Ask) *Hold {
	family := Family(a.Class)
	if family == nil {
		return nil
	}
	if ripe := a.Since.Add(r.Wait); f.At.Before(ripe) {
		return &Hold{Outbreak, Young, "it comes with rollouts, and others may be about to tell the same", ripe.UTC().Format(time.RFC3339)}
	}
	onsets := []time.Time{a.Since}
	for _, p := range f.Peers {
		switch {
		case !slices.Contains(family, p.Fault):
		case p.Since.IsZero():
			onsets = append(onsets, a.Since)
		case p.Since.After(f.Cleared):
			onsets = append(onsets, p.Since)
		}
	}
	least := r.Outbreak.Of(f.Nodes)
	most := together(onsets, r.Window)
	if most < least || !a.Since.After(f.Cleared) {
		return nil
	}
	until := fmt.Sprintf("fewer than %d show it, or a person clears it", least)
	if f.Clear != "" {
		until += ": " + f.Clear
	}
	return &Hold{Outbreak, Rollout, fmt.Sprintf("%s on %s of %d in %s within %s, which looks like a rollout", a.Class, nodes(most), f.Nodes, f.Group, r.Window), until}
}

// together gives the most moments that lie within one window.
func together(at []time.Time, window time.Duration) (most int) {
	slices.SortFunc(at, time.Time.Compare)
	first := 0
	for last := range at {
		for at[last].Sub(at[first]) > window {
			first++
		}
		most = max(most, last-first+1)
	}
	return most
}
