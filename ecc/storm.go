package ecc

import "time"

// What makes corrected errors a storm. A GB200 with failing memory has shown
// thousands a second under load and none while idle; 200 in four hours are
// what healthy memory shows in bad weather.
const (
	// StormRate is how many a second, over StormWindow.
	StormRate   = 50
	StormWindow = 10 * time.Second
	// BurstCount is how many within BurstWindow.
	BurstCount  = 200
	BurstWindow = 2 * time.Minute
)

// Storm watches the corrected errors of one GPU. Its zero value has seen none.
type Storm struct {
	// Recent holds what came within BurstWindow, the oldest first.
	Recent []Share
	// Peak is the highest rate seen, in errors a second: a GPU that shows none
	// while idle is not healed.
	Peak float64
	// Raging is set from the first sign of a storm until neither window shows
	// more than half of what began it.
	Raging bool
}

// Share is the errors of one stretch between two readings.
type Share struct {
	At    time.Time
	Over  time.Duration
	Count uint64
}

// Add takes what a Counter has read and says whether a storm rages.
func (s *Storm) Add(now time.Time, count uint64, over time.Duration) bool {
	s.Recent = append(s.Recent, Share{now, over, count})
	for len(s.Recent) > 0 && now.Sub(s.Recent[0].At) >= BurstWindow {
		s.Recent = s.Recent[1:]
	}
	rate, burst := s.rate(), s.burst()
	s.Peak = max(s.Peak, rate)
	switch {
	case rate > StormRate || burst >= BurstCount:
		s.Raging = true
	case rate <= StormRate/2 && burst < BurstCount/2:
		s.Raging = false
	}
	return s.Raging
}

// rate is the errors a second over the newest StormWindow. Where one stretch
// between two readings is longer than that, it is spread over its length.
func (s *Storm) rate() float64 {
	var count uint64
	var over time.Duration
	for i := len(s.Recent) - 1; i >= 0 && over < StormWindow; i-- {
		count += s.Recent[i].Count
		over += s.Recent[i].Over
	}
	return float64(count) / max(over, StormWindow).Seconds()
}

// burst is the errors within BurstWindow.
func (s *Storm) burst() uint64 {
	var count uint64
	for _, share := range s.Recent {
		count += share.Count
	}
	return count
}
