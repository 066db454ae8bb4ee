package agent

import (
	"time"

	"github.com/gpuhealthd/gpuhealthd/fault"
)

// managedEvery is the time between two looks whether a fabric manager runs: what
// systemd does not start again is found within a minute.
const managedEvery = 20 * time.Second

// manages looks whether a fabric manager runs. Where the host's processes cannot be
// seen, nothing is said of it.
func (c *core) manages(now time.Time) {
	if c.opts.Managed == nil || now.Sub(c.managedAt) < managedEvery {
		return
	}
	c.managedAt = now
	if runs, err := c.opts.Managed(); err == nil {
		c.step(now, fault.Manager{Runs: runs})
	}
}
