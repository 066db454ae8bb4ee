package serving

import (
	"fmt"
	"slices"
	"time"
)

// State is how a replica, or an engine of it, gets on with its requests.
type State uint8

// The states, in the order in which one of an engine outweighs those of others.
const (
	// Unclear: nothing is known that would say, such as while a model is loaded.
	Unclear State = iota
	// Well: requests get on, or none is open, or it was paused on purpose.
	Well
	// Doubtful: requests do not get on, and what the GPUs do is not known, or
	// whether the process lives.
	Doubtful
	// Stalled: requests do not get on, and the GPUs compute nothing.
	Stalled
)

var states = [...]string{"unclear", "well", "doubtful", "stalled"}

// States are all of them.
func States() []State { return []State{Unclear, Well, Doubtful, Stalled} }

// String gives the word for it.
func (s State) String() string { return states[s] }

// MarshalText writes the word.
func (s State) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads the word.
func (s *State) UnmarshalText(text []byte) error {
	n := slices.Index(states[:], string(text))
	if n < 0 {
		return fmt.Errorf("state of a replica: %.40q is none", text)
	}
	*s = State(n)
	return nil
}

// phase is how an engine gets on by its own word.
type phase uint8

const (
	phaseUnknown phase = iota
	// resting: nothing is open, or it is paused.
	resting
	// moving: requests are open, and get on.
	moving
	// stuck: requests are open, and do not get on for longer than they may.
	stuck
)

// jitter is by how much the times of two scrapes may miss their period.
const jitter = 500 * time.Millisecond

// phase judges one engine by its counters alone. One that does not count what moves
// while a request is computed on is judged only where it does not answer either.
func (p *endpoint) phase(now time.Time, e *engine, cfg Config) phase {
	silent, still := p.silentFor(), p.stillFor(e)
	switch {
	case p.stale(now, cfg):
		return phaseUnknown
	case e.paused && silent == 0, e.rests() && silent == 0:
		return resting
	case !e.works() || p.busy:
		return phaseUnknown
	case still < p.patience(e, cfg)-jitter && silent == 0:
		return moving
	case still < p.patience(e, cfg)-jitter, !e.Measured && silent < cfg.Stall-jitter:
		return phaseUnknown
	}
	return stuck
}

// doubted says whether an engine lives and talks, though nobody understands it: what it
// had open it may have done by now.
func (p *endpoint) doubted() bool { return p.answer != Answered && p.answer != Silent }

// stale says whether an endpoint was asked too long ago for its answer to count.
func (p *endpoint) stale(now time.Time, cfg Config) bool {
	return now.Sub(p.asked) > stalePeriods*cfg.Period
}
