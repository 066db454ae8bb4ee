package agent

import (
	"time"

	"github.com/gpuhealthd/gpuhealthd/fault"
)

// managedEvery is the time between two looks whether a fabric manager runs: what
// systemd does not start again is found within a minute.
const managedEvery = 20 * time.Second

// manages looks whether a fabric manager runs, on a node that has switches. Where the host's processes cannot be
// seen, that is told once, and nothing is said of it.
func (c *core) manages(now time.Time) {
	if c.opts.Managed == nil || !c.judge.OwnSwitches() || now.Sub(c.managedAt) < managedEvery {
		return
	}
	c.managedAt = now
	runs, err := c.opts.Managed()
	if err != nil {
		if c.unseen.FabricManager != err.Error() {
			c.log.Warn("whether a fabric manager runs, only the journal tells", "error", err)
		}
		c.unseen.FabricManager = err.Error()
		return
	}
	c.unseen.FabricManager = ""
	c.step(now, fault.Manager{Runs: runs})
}
