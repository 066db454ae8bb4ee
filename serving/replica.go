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
	// answered is when a canary had its last whole answer.
	answered time.Time
}

// Look is what is held of one replica at a moment.
type Look struct {
	Replica Replica
	State   State
	// Why says what is stuck, in words that stay the same while it is.
	Why string
	// Anew: it, or an engine of it, was started anew since the scrape before.
	Anew bool
	// Closed: its engines answer, and none tells of an open request.
	Closed bool
	// Cold: what is stuck has computed nothing in its life.
	Cold bool
	Pace Pace

	side side
}

// take reads the scrapes of a replica's endpoints.
func (r *replica) take(now Replica, scrapes []Scrape) {
	r.anew = r.Endpoints != nil && r.Life != now.Life
	if r.anew {
		r.Endpoints, r.answered = nil, time.Time{}
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

// census counts the engines of a replica by how they get on.
type census struct {
	// engines are all of them, and one for each endpoint that has none yet.
	engines int
	// goOn have requests that get on; fresh are those that had nothing to do until just now.
	goOn, fresh, rest int
	// unknown is whether it is not known of one.
	unknown bool
	// stuck says of what, for each; doubted counts those of them that answer and are not
	// understood, elsewhere those that may wait for somebody else.
	stuck              []string
	doubted, elsewhere int
	// mute are those of them that do not tell their metrics.
	mute int
	// begun says that one of these has computed something before.
	begun bool
}

func (w *Watch) census(now time.Time, r *replica) (c census) {
	for _, p := range r.Endpoints {
		c.engines += max(1, len(p.Engines)) // one that is loaded may yet come
	}
	for p, e := range r.engines() {
		switch p.phase(now, e, w.cfg) {
		case moving:
			if now.Sub(e.busySince) >= (settled+1)*w.cfg.Poll {
				c.goOn++
			} else {
				c.fresh++
			}
		case resting:
			c.rest++
		case stuck:
			c.stuck = append(c.stuck, p.tell(e))
			c.begun = c.begun || e.Begun
			if p.answer != Answered {
				c.mute++
			}
			switch {
			case p.doubted():
				c.doubted++
			case r.now.Role == string(Decode) && e.deferred() && p.silentFor() < w.cfg.Stall-jitter:
				c.elsewhere++
			}
		case phaseUnknown:
			c.unknown = true
		}
	}
	return c
}

// look judges a replica. One engine that is stuck makes the replica so.
func (w *Watch) look(now time.Time, r *replica) Look {
	c := w.census(now, r)
	l := Look{Replica: r.now, Anew: r.anew, Pace: w.pace(r), Cold: len(c.stuck) > 0 && !c.begun, Closed: r.closed()}
	l.side = w.side(now, r.now.GPUs, c.engines, c.goOn)
	switch {
	case len(c.stuck) == 0 && !c.unknown && c.goOn+c.fresh+c.rest > 0:
		l.State = Well
	case len(c.stuck) == 0:
	case c.mute == len(c.stuck) && now.Sub(r.answered) < w.cfg.Stall:
		l.State = Well // it is only its metrics that do not answer
	case l.side == sideWorking:
		l.State = Well
	case l.side == sideMixed:
	case c.doubted == len(c.stuck):
		l.State, l.Why = Doubtful, why(c.stuck, "what it has done since is not known")
	case c.doubted+c.elsewhere == len(c.stuck):
		l.State, l.Why = Doubtful, why(c.stuck, "it may wait for a prefill worker elsewhere")
	case l.side == sideIdle:
		l.State, l.Why = Stalled, why(c.stuck, w.doing(r.now.GPUs))
	default:
		l.State, l.Why = Doubtful, why(c.stuck, "what its GPUs do is not known")
	}
	r.outlive(l.side, 2*w.cfg.Poll)
	return l
}

// closed says whether all of its engines answer, and none tells of a request that is open.
func (r *replica) closed() bool {
	n := 0
	for p, e := range r.engines() {
		if told := known(e.last.Running) || known(e.last.Waiting); p.answer != Answered || e.Open || !told {
			return false
		}
		n++
	}
	return n > 0
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
	if p.answer == Silent {
		what = "requests were open and it does not answer"
	} else if p.answer != Answered {
		what = "requests were open and it does not tell its metrics any more"
	} else if !positive(e.last.Running) {
		what = "requests wait and none runs or gets on"
	}
	if e.name == "" {
		return what
	}
	return fmt.Sprintf("engine %s: %s", e.name, what)
}

func why(stuck []string, gpus string) string { return strings.Join(stuck, ", ") + "; " + gpus }
