package serving

import (
	"slices"
	"time"
)

// A worker that is lost may be one of a rollout: the next goes once its own is ready
// again. Whoever was left by the first will be left by the others too.

// Steady is since when no prefill worker of a group is being replaced: all that are there
// are ready, and none was lost since. Zero is not at present, or not known.
func (p *Pairs) Steady(group string) time.Time {
	if g := p.Groups[group]; g != nil {
		return g.Steady
	}
	return time.Time{}
}

// steady is since when that holds, after one look.
func (was *pair) steady(now time.Time, g Group, lost []Loss) time.Time {
	switch {
	case slices.ContainsFunc(g.Peers[Prefill], func(w Worker) bool { return w.Unready && !w.Aside }):
		return time.Time{}
	case was == nil, was.Steady.IsZero(), slices.ContainsFunc(lost, func(l Loss) bool { return l.Role == Prefill }):
		return now
	}
	return was.Steady
}
