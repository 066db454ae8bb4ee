package fault

import "time"

// DefaultSlowdown is the window in which a state that comes and goes becomes a
// lasting one: it was there in more than half of its polls, and the window is
// full.
const DefaultSlowdown = 2 * time.Minute

const (
	// sustainedMin is how many polls a window has at least.
	sustainedMin = 5
	// goneWindows is how many windows without it end a slowdown.
	goneWindows = 5
)

// sustained follows a state from poll to poll. Its zero value has seen nothing.
type sustained struct {
	since   time.Time
	on, all int
}

// read takes one poll and says whether the state has lasted for a window.
func (s *sustained) read(now time.Time, window time.Duration, on bool) bool {
	if s.since.IsZero() {
		s.since = now
	}
	s.all++
	if on {
		s.on++
	}
	if now.Sub(s.since) < window || s.all < sustainedMin {
		return false
	}
	lasted := 2*s.on > s.all
	*s = sustained{}
	return lasted
}

// quiet is how long nothing more must be seen or heard of an episode to end it.
func (j *Judge) quiet(e *episode) time.Duration {
	switch {
	case e.Suspicion != "":
		return max(e.rule.Quiet, suspectWindow)
	case e.Class == Thermal || e.Class == PowerBrake || e.Class == PCIeDegraded:
		return goneWindows * j.cfg.Slowdown
	}
	return e.rule.Quiet
}
