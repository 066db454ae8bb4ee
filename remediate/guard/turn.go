package guard

import (
	"fmt"
	"slices"

	"github.com/gpuhealthd/gpuhealthd/fault"
)

// Turns is that one worker of a serving group is restarted at a time.
const Turns Guard = "turn"

// Turn is the worker of a serving group that was given leave to be restarted last, and
// how many workers the group then had.
type Turn struct {
	fault.Workload
	Workers int `json:"workers"`
}

// Worker is one of a serving group that takes turns.
type Worker struct {
	fault.Workload
	Ready bool
	// Stays: nobody would make it anew, so that nobody restarts it.
	Stays bool
}

// Take decides whether a worker may be restarted now, given all that take turns with it
// and whose turn was last. That turn is over once the worker is gone, as many are there
// as before, and all of them are ready; open says that it may still be under way, since
// nobody has held it up for too long. It gives the turn that is to be known to the
// others before anything is begun. One that nobody restarts takes none.
func Take(all []Worker, last Turn, open bool, w fault.Workload) (next Turn, hold *Hold) {
	if slices.ContainsFunc(all, func(o Worker) bool { return o.UID == w.UID && o.Stays }) {
		return last, nil
	}
	ours := last.UID == w.UID && last.UID != ""
	if open && !ours {
		for _, o := range all {
			if o.UID == last.UID {
				return last, &Hold{Turns, InTurn, o.Name + " is being restarted", "it is ready again"}
			}
		}
		if len(all) < last.Workers {
			return last, &Hold{Turns, Few, fmt.Sprintf("%s was restarted, and %d of %d workers of its group are there", last.Name, len(all), last.Workers), "all are"}
		}
	}
	for _, o := range all {
		if o.UID != w.UID && !o.Ready {
			return last, &Hold{Turns, Unready, o.Name + " of the same group is not ready", "it is"}
		}
	}
	if ours {
		return last, nil
	}
	return Turn{Workload: w, Workers: len(all)}, nil
}
