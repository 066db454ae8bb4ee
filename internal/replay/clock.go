package replay

import (
	"time"

	"github.com/gpuhealthd/gpuhealthd/xidparse"
)

// lineTime is how much time passes from one line to the next where the log
// does not say.
const lineTime = time.Millisecond

// clock is the time of a replay. It follows what the log says of time, but for
// intervals only: it never goes back, and nothing is dropped or put into
// another order for it.
type clock struct {
	now  time.Time
	last xidparse.Time
}

// pass lets the time pass that lies between a line and the one before. A time
// that goes back is another boot or another file, and one of another clock
// cannot be compared: then none has passed.
func (c *clock) pass(t xidparse.Time) {
	if t.Clock == xidparse.ClockNone {
		c.now = c.now.Add(lineTime)
		return
	}
	if t.Clock == c.last.Clock && t.Since > c.last.Since {
		c.now = c.now.Add(t.Since - c.last.Since)
	}
	c.last = t
}
