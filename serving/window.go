package serving

import "time"

const (
	// windowLength is how far back a rate or a percentile looks.
	windowLength = time.Minute
	// windowReadings bounds the readings of a window, however often there is a scrape.
	windowReadings = 64
	// leastLoad is how much of a window there must have been work for a rate of it.
	leastLoad = windowLength / 2
)

// reading is one of an engine, at a moment.
type reading struct {
	at                   time.Time
	running, tokens      *float64
	lag                  bool
	firstToken, perToken *Histogram
}

// window holds the last readings of one life of an engine, the oldest first.
type window []reading

func (w *window) push(at time.Time, r Reading) {
	*w = append(*w, reading{at, r.Running, r.Tokens, r.Lag > 0, r.FirstToken, r.PerToken})
	for len(*w) > windowReadings || len(*w) > 1 && at.Sub((*w)[0].at) > windowLength {
		*w = (*w)[1:]
	}
}

// load is what was done in a window.
type load struct {
	// tokens came in so many seconds, 0 where they are not counted, times the requests that ran.
	tokens, requestSeconds float64
	// worked is for how long any ran.
	worked time.Duration
}

// load adds up the times at both ends of which requests ran.
func (w window) load() (l load) {
	for i := 1; i < len(w); i++ {
		a, b := w[i-1], w[i]
		if !positive(a.running) || !positive(b.running) {
			continue
		}
		took, came := b.at.Sub(a.at), 0.0
		if known(a.tokens) && known(b.tokens) {
			came = *b.tokens - *a.tokens
		}
		if b.lag && came == 0 {
			continue // they may have been done before
		}
		l.tokens += came
		l.requestSeconds += (*a.running + *b.running) / 2 * took.Seconds()
		l.worked += took
	}
	return l
}

// latencies gives the time to the first token and the time for each further one, of
// what was observed in a window.
func (w window) latencies() (first, per Histogram) {
	if len(w) < 2 {
		return first, per
	}
	oldest, newest := w[0], w[len(w)-1]
	first, _ = newest.firstToken.since(oldest.firstToken)
	per, _ = newest.perToken.since(oldest.perToken)
	return first, per
}

// rests says whether nothing ran in a whole window.
func (w window) rests() bool {
	for _, r := range w {
		if !known(r.running) || *r.running > 0 {
			return false
		}
	}
	return len(w) > 1 && w[len(w)-1].at.Sub(w[0].at) >= leastLoad
}
