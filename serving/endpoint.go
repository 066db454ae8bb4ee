package serving

import "time"

// endpoint is what is remembered of one endpoint of a replica. Exported fields are
// its saved form.
type endpoint struct {
	Started time.Time `json:",omitzero"`
	// Heard is when it last answered, zero where that is not known any more.
	Heard   time.Time `json:",omitzero"`
	Engines map[string]*engine

	// asked is when it was last asked, and answer what came of it.
	asked  time.Time
	answer Answer
	// busy says that its GPUs went on working while it did not answer: what it had
	// open then says nothing of now.
	busy bool
}

// restartSlack is by how much the start of a process may seem to move: it is
// reckoned from a clock that is set, and in hundredths of a second.
const restartSlack = 2 * time.Second

// maxEngines bounds the engines of one endpoint: more are none that serve, but a text
// that is garbled.
const maxEngines = 256

// take reads one scrape. It says whether an engine was started anew since the one
// before.
func (p *endpoint) take(s Scrape) (anew bool) {
	end := s.At.Add(s.Took)
	if s.Answer == Unreached && p.answer == Silent {
		s.Answer = Silent // those who hang there by now fill its queue of connections
	}
	p.asked, p.answer = end, s.Answer
	if s.Answer == Refused || s.Alive != nil && !*s.Alive {
		p.Engines, p.Heard = nil, time.Time{}
		return false
	}
	if s.Answer != Answered {
		p.wait(end)
		return false
	}
	if moved := s.Started.Sub(p.Started).Abs(); !s.Started.IsZero() && !p.Started.IsZero() && moved > restartSlack {
		p.Engines, anew = nil, true
	}
	if !s.Started.IsZero() {
		p.Started = s.Started
	}
	p.Heard, p.busy = end, false
	before := p.Engines
	p.Engines = make(map[string]*engine, len(s.Engines))
	for _, r := range s.Engines[:min(len(s.Engines), maxEngines)] {
		e := before[r.Engine]
		if e == nil {
			e = &engine{name: r.Engine}
		}
		p.Engines[r.Engine] = e
		anew = e.take(end, r) || anew
	}
	return anew
}

// wait begins to count for what was restored: how long it has been so before is
// not known.
func (p *endpoint) wait(now time.Time) {
	if p.Heard.IsZero() {
		p.Heard = now
	}
	for _, e := range p.Engines {
		if e.Moved.IsZero() {
			e.Moved = now
		}
	}
}

// silentFor is for how long it is known not to have answered, zero if it did last
// time.
func (p *endpoint) silentFor() time.Duration {
	if p.answer == Answered {
		return 0
	}
	return p.asked.Sub(p.Heard)
}

// stillFor is for how long an engine is known not to have got on: to the last time
// that it was asked, answer or none.
func (p *endpoint) stillFor(e *engine) time.Duration { return p.asked.Sub(e.Moved) }

// patience is for how long an engine's requests may make no progress. What it says of them
// may be old, unless it was at work when it fell silent; and the first of its life may wait
// for kernels to be compiled.
func (p *endpoint) patience(e *engine, cfg Config) time.Duration {
	atWork := p.answer == Silent && !e.Moved.Before(p.Heard)
	t := cfg.Stall
	if e.last.Lag > 0 && !atWork {
		t = max(t, e.last.Lag+cfg.Period)
	}
	if e.Measured && !e.Begun {
		t = max(t, cfg.WarmUp)
	}
	return t
}
