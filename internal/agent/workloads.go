package agent

import (
	"context"
	"time"

	"github.com/gpuhealthd/gpuhealthd/nvlink"
)

// worked is what works on the node's GPUs, or why that is not known.
type worked struct {
	names []string
	err   error
}

func (worked) isMessage() {}

const (
	// workEvery is the time between two looks at what works on the GPUs of a tray:
	// when its links fail, the agent has to know already.
	workEvery = time.Minute
	// workLimit is how long a look may take.
	workLimit = 10 * time.Second
)

// works looks what works on the GPUs.
func (a *Agent) works(ctx context.Context) message {
	names, err := a.opts.Workloads(ctx)
	return worked{names, err}
}

// busy takes in what works on the GPUs. While the links are not in order, what worked
// there when that began is what was hit, and stands.
func (c *core) busy(m worked) {
	why := ""
	if m.err != nil {
		why = m.err.Error()
	}
	if why != c.noWork && why != "" {
		c.log.Warn("what works on the GPUs is not known", "error", m.err)
	}
	if c.noWork = why; why == "" && (c.work == nil || c.sources.Summary == "") {
		c.work = m.names
	}
}

// speaks says what the node tells its domain of its links.
func (c *core) speaks() nvlink.Summary {
	s := c.judge.Summary()
	s.Node, s.Work = c.opts.Name, c.work
	return s
}

// afflicted gives the plan what is known of the domain's trays that are in trouble.
func (c *core) afflicted(heard []nvlink.Summary) {
	c.sources.Trays, c.sources.Workloads, c.sources.MoreWork = nvlink.Afflicted(append([]nvlink.Summary{c.speaks()}, heard...))
}
