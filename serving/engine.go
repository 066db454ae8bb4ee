package serving

import "time"

// engine is what is remembered of one engine. Exported fields are its saved form.
type engine struct {
	// Moved is when it was last seen to get on: a request made progress, none was open,
	// or it was paused. Zero is not known: it counts from the next look.
	Moved time.Time `json:",omitzero"`
	// Measured says that it counts what moves while a request is computed on.
	Measured bool `json:",omitempty"`
	// Open says that it had requests open when it was last heard.
	Open bool `json:"-"`

	// name is the engine's own label.
	name   string
	paused bool
	last   Reading
	window window
}

// take reads what an engine says at a moment. It says whether it was started anew
// since it said something before: none of its counters ever falls.
func (e *engine) take(at time.Time, r Reading) (anew bool) {
	anew = fell(e.last.Progress, r.Progress) || fell(e.last.Finished, r.Finished) || fell(e.last.Tokens, r.Tokens)
	rose := rose(e.last.Progress, r.Progress) || rose(e.last.Finished, r.Finished) || rose(e.last.Tokens, r.Tokens)
	if anew {
		*e = engine{name: e.name}
	}
	e.Open, e.paused = r.open(), r.Paused != nil && *r.Paused
	e.Measured = known(r.Progress) || known(r.Tokens)
	if anew || rose || !e.Open || e.paused || e.Moved.IsZero() {
		e.Moved = at
	}
	e.window.push(at, r)
	e.last = r.after(e.last)
	return anew
}

// open says whether requests are known to be open. A queued one is, whether or not
// it is known what runs: Triton counts its queue alone.
func (r Reading) open() bool { return positive(r.Running) || positive(r.Waiting) }

// after keeps the counters of before where one is not told this time, so that what
// it comes back with is compared.
func (r Reading) after(before Reading) Reading {
	keep := func(now, before *float64) *float64 {
		if known(now) {
			return now
		}
		return before
	}
	r.Progress, r.Finished = keep(r.Progress, before.Progress), keep(r.Finished, before.Finished)
	r.Tokens = keep(r.Tokens, before.Tokens)
	return r
}

func positive(v *float64) bool { return known(v) && *v > 0 }

func rose(before, now *float64) bool { return known(before) && known(now) && *now > *before }

func fell(before, now *float64) bool { return rose(now, before) }
