package serving

import "time"

// engine is what is remembered of one engine. Exported fields are its saved form.
type engine struct {
	// Moved is when it was last seen to get on: a request made progress, or the first
	// was seen open since none was, or since it was paused. Zero is not known: it
	// counts from the next look.
	Moved time.Time `json:",omitzero"`
	// Counters are as it told them last.
	Counters counters `json:",omitzero"`
	// Measured says that it counts what moves while a request is computed on.
	Measured bool `json:",omitempty"`
	// Begun says that it has computed something in its life.
	Begun bool `json:",omitempty"`
	// Open says that it had requests open when it was last heard.
	Open bool `json:"-"`

	// name is the engine's own label.
	name   string
	paused bool
	last   Reading
	// busySince is since when it has had something to do without a break, as far as was seen.
	busySince time.Time
	window    window
}

// take reads what an engine says at a moment. It says whether it was started anew
// since it said something before: none of its counters ever falls.
func (e *engine) take(at time.Time, r Reading) (anew bool) {
	told := r.counters()
	if anew = e.Counters.anyAbove(told); anew {
		*e = engine{name: e.name}
	}
	worked := e.works()
	e.Open, e.paused = r.open(), r.Paused != nil && *r.Paused
	e.Measured = known(r.Progress) || known(r.Tokens)
	e.Begun = e.Begun || told.any()
	if !worked && e.works() {
		e.busySince = at
	}
	if told.anyAbove(e.Counters) || !worked || !e.works() || e.Moved.IsZero() {
		e.Moved = at
	}
	e.window.push(at, r)
	e.Counters, e.last = told.over(e.Counters), r
	return anew
}

// works says whether it has something to do, and may.
func (e *engine) works() bool { return e.Open && !e.paused }

// deferred says whether all that is open waits, and may do so for somebody else: nothing
// is computed on, and what keeps it is not the engine's own, or not told.
func (e *engine) deferred() bool {
	waiting, others := e.last.Waiting, e.last.Deferred
	return !positive(e.last.Running) && known(waiting) && (!known(others) || *others >= *waiting)
}

// rests says whether it is known to have nothing open.
func (e *engine) rests() bool { return known(e.last.Running) && !e.Open }

// open says whether requests are known to be open. A queued one is, whether or not
// it is known what runs: Triton counts its queue alone.
func (r Reading) open() bool { return positive(r.Running) || positive(r.Waiting) }

// counters are what an engine counts of its work.
type counters struct {
	Progress *float64 `json:",omitempty"`
	Finished *float64 `json:",omitempty"`
	Tokens   *float64 `json:",omitempty"`
}

func (r Reading) counters() counters { return counters{r.Progress, r.Finished, r.Tokens} }

func (c counters) all() [3]*float64 { return [...]*float64{c.Progress, c.Finished, c.Tokens} }

// any says whether any of them has counted something.
func (c counters) any() bool {
	return positive(c.Progress) || positive(c.Finished) || positive(c.Tokens)
}

// anyAbove says whether any of them is above what others have for it.
func (c counters) anyAbove(others counters) bool {
	theirs := others.all()
	for i, v := range c.all() {
		if known(v) && known(theirs[i]) && *v > *theirs[i] {
			return true
		}
	}
	return false
}

// over puts counters in the place of earlier ones. One that is not told this time
// keeps its value, so that what it comes back with is compared.
func (c counters) over(before counters) counters {
	for at, then := range map[**float64]*float64{&c.Progress: before.Progress, &c.Finished: before.Finished, &c.Tokens: before.Tokens} {
		if !known(*at) {
			*at = then
		}
	}
	return c
}

func positive(v *float64) bool { return known(v) && *v > 0 }
