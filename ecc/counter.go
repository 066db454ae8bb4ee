package ecc

import "time"

// Counter turns readings of a count that grows into what happened between them.
// Its zero value has no baseline.
type Counter struct {
	Value uint64
	At    time.Time
}

// maxGap is how far apart two readings may be for their difference to mean a
// rate: over a longer one nobody knows when it happened.
const maxGap = 5 * time.Minute

// Read takes a reading, and gives how much the count has grown and over what
// time. It is false where nothing can be said: at the first reading, after a
// gap, and when the count went backwards, as it does at a reset, a reload of
// the driver and a boot. Then the reading is the new baseline.
func (c *Counter) Read(now time.Time, value uint64) (grown uint64, over time.Duration, ok bool) {
	before := *c
	c.Value, c.At = value, now
	over = now.Sub(before.At)
	if before.At.IsZero() || value < before.Value || over <= 0 || over > maxGap {
		return 0, 0, false
	}
	return value - before.Value, over, true
}

// Lose drops the baseline: the count could not be read.
func (c *Counter) Lose() { *c = Counter{} }
