package guard

import (
	"fmt"
	"time"
)

// Pace is how nodes go back to service: within Every as many as the budget at
// most, and the next only once the queue's age is back under its objective; none
// waits longer than Limit.
type Pace struct {
	Every, Limit time.Duration
}

// Released is how many nodes of a group have gone back to service since a moment.
type Released struct {
	Since time.Time `json:"since"`
	Nodes int       `json:"nodes"`
}

// Release decides whether one more node goes back to service now, and gives the
// new count, or what holds it.
func (r Rules) Release(f Facts, before Released) (Released, *Hold) {
	// One from the future was written by a clock that is ahead, and counts as none.
	if since := f.At.Sub(before.Since); since >= r.Ramp.Every || since < -r.Ramp.Every {
		before = Released{Since: f.At}
	}
	if may := r.Budget.Of(f.Nodes); before.Nodes >= may {
		return before, &Hold{Ramp, Full, fmt.Sprintf("%s of %s went back to service within %s", nodes(before.Nodes), f.Group, r.Ramp.Every),
			before.Since.Add(r.Ramp.Every).UTC().Format(time.RFC3339)}
	}
	if f.Load.late() {
		return before, &Hold{Ramp, Late, fmt.Sprintf("the queue of %s is %s old, and %s is the objective", f.Group, f.Load.QueueAge, f.Load.Objective),
			"it is younger, or " + r.Ramp.Limit.String() + " have passed"}
	}
	before.Nodes++
	return before, nil
}
