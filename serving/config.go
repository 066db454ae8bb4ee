package serving

import "time"

// Config is what a site decides about judging replicas. A zero field is its
// default.
type Config struct {
	// Stall is how long requests may be open without progress.
	Stall time.Duration
	// Period is the time between two scrapes, Poll between two polls of the GPUs. What
	// is older than three of them is not known any more.
	Period, Poll time.Duration
	// WarmUp is how long the first request of an engine's life may make no progress.
	WarmUp time.Duration
	// Wedge is how long all GPUs of a job have to be wedged.
	Wedge time.Duration
	// Slow is the share of its usual token rate under which a replica is slow.
	Slow float64
}

// The defaults. A wedge is told before PyTorch's watchdog ends the job, which takes
// 10 minutes, and after the 4 that Minder (NSDI'25) found to tell a hang from a
// pause.
const (
	DefaultStall  = 15 * time.Second
	DefaultPeriod = 5 * time.Second
	DefaultWarmUp = 5 * time.Minute
	DefaultWedge  = 5 * time.Minute
	DefaultSlow   = 0.3
)

// stalePeriods is after how many periods what was said is not known any more.
const stalePeriods = 3

func (c Config) withDefaults() Config {
	if c.Stall == 0 {
		c.Stall = DefaultStall
	}
	if c.Period == 0 {
		c.Period = DefaultPeriod
	}
	if c.Poll == 0 {
		c.Poll = DefaultPeriod
	}
	if c.WarmUp == 0 {
		c.WarmUp = DefaultWarmUp
	}
	if c.Wedge == 0 {
		c.Wedge = DefaultWedge
	}
	if c.Slow == 0 {
		c.Slow = DefaultSlow
	}
	return c
}
