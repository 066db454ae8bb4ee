package serving

import (
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"time"
)

// ID is what a replica, or a job, is known by.
type ID struct {
	Name string
	UID  string `json:",omitempty"`
}

// replica is what is remembered of one. Exported fields are its saved form.
type replica struct {
	Life      string `json:",omitempty"`
	Endpoints map[string]*endpoint

	now   Replica
	anew  bool
	usual usual
}

// Look is what is held of one replica at a moment.
type Look struct {
	Replica Replica
	State   State
	// Why says what is stuck, in words that stay the same while it is.
	Why string
	// Anew: it, or an engine of it, was started anew since the scrape before.
	Anew bool
	Pace Pace

	side side
}

// take reads the scrapes of a replica's endpoints.
func (r *replica) take(now Replica, scrapes []Scrape) {
	r.anew = r.Endpoints != nil && r.Life != now.Life
	if r.anew {
		r.Endpoints = nil
	}
	r.Life, r.now = now.Life, now
	before := r.Endpoints
	r.Endpoints = make(map[string]*endpoint, len(scrapes))
	for _, s := range scrapes {
		p := before[s.Endpoint]
		if p == nil {
			p = &endpoint{}
		}
		r.Endpoints[s.Endpoint] = p
		r.anew = p.take(s) || r.anew
	}
}

// engines gives the engines of a replica with their endpoints, in an order that
// stays the same.
func (r *replica) engines() iter.Seq2[*endpoint, *engine] {
	return func(yield func(*endpoint, *engine) bool) {
		for _, url := range slices.Sorted(maps.Keys(r.Endpoints)) {
			p := r.Endpoints[url]
			for _, name := range slices.Sorted(maps.Keys(p.Engines)) {
				if !yield(p, p.Engines[name]) {
					return
				}
			}
		}
	}
}

// look judges a replica. One engine that is stuck makes the replica so.
func (w *Watch) look(now time.Time, r *replica) Look {
	engines, goOn, rest := 0, 0, 0
	var stuckOnes []string
	doubted, counted, elsewhere := false, true, 0
	for _, p := range r.Endpoints {
		engines += max(1, len(p.Engines)) // one that is loaded may yet come
	}
	for p, e := range r.engines() {
		switch p.phase(now, e, w.cfg) {
		case moving:
			goOn++
		case resting:
			rest++
		case stuck:
			stuckOnes = append(stuckOnes, p.tell(e))
			doubted = doubted || p.doubted()
			if r.now.Role == string(Decode) && e.deferred() && p.silentFor() < w.cfg.Stall-jitter {
				elsewhere++
			}
		case phaseUnknown:
			counted = false
		}
	}
	l := Look{Replica: r.now, Anew: r.anew, Pace: w.pace(r)}
	l.side = w.side(now, r.now.GPUs, engines, goOn)
	switch {
	case len(stuckOnes) == 0 && counted && goOn+rest > 0:
		l.State = Well
	case len(stuckOnes) == 0:
	case l.side == sideWorking:
		l.State = Well
	case l.side == sideMixed:
	case elsewhere == len(stuckOnes):
		l.State, l.Why = Doubtful, why(stuckOnes, "it may wait for a prefill worker elsewhere")
	case l.side == sideIdle && !doubted:
		l.State, l.Why = Stalled, why(stuckOnes, w.doing(r.now.GPUs))
	case doubted:
		l.State, l.Why = Doubtful, why(stuckOnes, "whether its process lives is not known")
	default:
		l.State, l.Why = Doubtful, why(stuckOnes, "what its GPUs do is not known")
	}
	r.outlive(l.side, 2*w.cfg.Poll)
	return l
}

// outlive marks the endpoints that do not answer while the GPUs work on: they are
// not frozen, and what they had open may be done by now. A kernel may outlast its
// engine for a poll.
func (r *replica) outlive(side side, grace time.Duration) {
	for _, p := range r.Endpoints {
		if side == sideWorking && p.silentFor() > grace {
			p.busy = true
		}
	}
}

// tell says of what it is that an engine is stuck.
func (p *endpoint) tell(e *engine) string {
	what := "requests are open and none gets on"
	if p.answer != Answered {
		what = "requests were open and it does not answer"
	} else if !positive(e.last.Running) {
		what = "requests wait and none runs or gets on"
	}
	if e.name == "" {
		return what
	}
	return fmt.Sprintf("engine %s: %s", e.name, what)
}

func why(stuck []string, gpus string) string { return strings.Join(stuck, ", ") + "; " + gpus }
