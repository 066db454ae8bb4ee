package agent

import (
	"context"
	"time"

	"github.com/gpuhealthd/gpuhealthd/serving"
)

const (
	// fleetEvery is the time between two questions for the latencies of the fleet, while
	// replicas are here; fleetLimit is how long all of one may take.
	fleetEvery = time.Minute
	fleetLimit = 20 * time.Second
)

// compared is what the fleet's latencies are, and why some are not known.
type compared struct {
	latencies serving.Fleet
	err       error
}

func (compared) isMessage() {}

func (m compared) why() string {
	if m.err == nil {
		return ""
	}
	return m.err.Error()
}

// compares asks for the latencies of the fleet.
func (a *Agent) compares(ctx context.Context) message {
	latencies, err := a.opts.Fleet(ctx)
	return compared{latencies, err}
}

// compare takes them in. What is not known now is not known any more.
func (c *core) compare(m compared) {
	if why := m.why(); why != "" && why != c.fleet.why() {
		c.log.Warn("the latencies of the fleet are not known", "error", m.err)
	}
	c.fleet = m
}
