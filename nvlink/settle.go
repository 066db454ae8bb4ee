package nvlink

import "time"

const (
	// TrainingTime is how long links may train, and a GPU may register at its
	// fabric, after a boot, a driver load, a reset or the reseat of a tray.
	// Public reports have whole racks at it for minutes.
	TrainingTime = 10 * time.Minute
	// lastingReads is how many readings in a row must be bad to be believed,
	// lastingTime for how long.
	lastingReads = 3
	lastingTime  = 2 * time.Minute
)

// Settling tells trouble that lasts from links that are not up yet. Its zero
// value has seen nothing: whether the driver was just loaded is not known, so the
// first reading begins a training time.
type Settling struct {
	// Trained is when training began last, Bad when the readings became bad; zero
	// while they are good.
	Trained, Bad time.Time
	// Reads counts the bad ones in a row. Good is since when they are good.
	Reads int
	Good  time.Time
}

// Restart says that the links train anew.
func (s *Settling) Restart(now time.Time) { s.Trained = now }

// Read takes in one reading and says whether it is bad and has outlasted what
// settling takes.
func (s *Settling) Read(now time.Time, good bool) (lasting bool) {
	if s.Trained.IsZero() {
		s.Trained = now
	}
	if good {
		s.Bad, s.Reads = time.Time{}, 0
		if s.Good.IsZero() {
			s.Good = now
		}
		return false
	}
	s.Good = time.Time{}
	if s.Reads++; s.Reads == 1 {
		s.Bad = now
	}
	return s.Reads >= lastingReads && now.Sub(s.Bad) >= lastingTime && !s.Training(now)
}

// Training says whether the links may still be on their way.
func (s *Settling) Training(now time.Time) bool { return now.Sub(s.Trained) < TrainingTime }

// Until is when bad readings are believed, if they stay bad; zero while they are good.
func (s *Settling) Until() time.Time {
	if s.Reads == 0 {
		return time.Time{}
	}
	trained, lasted := s.Trained.Add(TrainingTime), s.Bad.Add(lastingTime)
	if lasted.After(trained) {
		return lasted
	}
	return trained
}

// GoodFor is how long the readings have been good.
func (s *Settling) GoodFor(now time.Time) time.Duration {
	if s.Good.IsZero() {
		return 0
	}
	return now.Sub(s.Good)
}
