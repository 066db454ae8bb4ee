package remediate

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// endFences has the fences end that stand and are not wanted. The plan remembers them
// until they are known to be gone: a device that stays fenced takes no work, and nothing
// else says so.
func (p *Plan) endFences(want []Fence) {
	f := &p.state.Fencing
	wanted := func(o Fence) bool { return slices.ContainsFunc(want, o.is) }
	f.Ending = slices.DeleteFunc(f.Ending, wanted)
	for _, o := range f.Standing {
		if !wanted(o) {
			o.Ends = true
			f.Ending = append(f.Ending, o)
		}
	}
	f.Standing = slices.DeleteFunc(f.Standing, func(o Fence) bool { return !wanted(o) })
}

// fenceEnds takes in whether a fence that ends is gone. One that the plan does not know
// was left behind by another life of the agent.
func (p *Plan) fenceEnds(now time.Time, one Fenced) {
	f := &p.state.Fencing
	at := slices.IndexFunc(f.Ending, one.is)
	switch {
	case one.Gone:
		f.Ending = slices.DeleteFunc(f.Ending, one.is)
		return
	case slices.ContainsFunc(f.Standing, one.is):
		return // wanted again
	case at < 0:
		f.Ending, at = append(f.Ending, one.Fence), len(f.Ending)
	}
	if f.Ending[at].Stays == "" {
		p.announce(now, Event{Key: fmt.Sprintf("fence/%s/Stays/%s", one.Key(), now.UTC().Format(time.DateOnly)), Type: "Warning", Reason: "FenceNotRemoved",
			Message: fmt.Sprintf("the fence of %s is needed no more and cannot be taken away, so the device gets no new work: %s; delete the DeviceTaintRule %s",
				one.Key(), one.Why, strings.Join(one.Rules, ", "))})
	}
	f.Ending[at].Stays = one.Why
}
