package fault

import "time"

// What makes a state that comes and goes a lasting one: it was there in more
// than half of the polls of a window, and the window is full.
const (
	sustainedFor = 2 * time.Minute
	sustainedMin = 5
)

// sustained follows a state from poll to poll. Its zero value has seen nothing.
type sustained struct {
	since   time.Time
	on, all int
}

// read takes one poll and says whether the state has lasted.
func (s *sustained) read(now time.Time, on bool) bool {
	if s.since.IsZero() {
		s.since = now
	}
	s.all++
	if on {
		s.on++
	}
	if now.Sub(s.since) < sustainedFor || s.all < sustainedMin {
		return false
	}
	lasted := 2*s.on > s.all
	*s = sustained{}
	return lasted
}
