package agent

import (
	"context"
	"time"

	"github.com/gpuhealthd/gpuhealthd/fault"
)

const (
	// imexEvery is the time between two looks at IMEX, while it may be in use;
	// imexLimit is how long one may take.
	imexEvery = time.Minute
	imexLimit = 20 * time.Second
)

// lent is what a look at IMEX finds, and why a part of it is unknown.
type lent struct {
	seen fault.IMEX
	err  error
}

func (lent) isMessage() {}

// lends looks at IMEX.
func (a *Agent) lends(ctx context.Context) message {
	seen, err := a.opts.IMEX(ctx)
	return lent{seen, err}
}

// imex takes in a look at IMEX, and tells what is unknown of it once.
func (c *core) imex(now time.Time, m lent) {
	why := ""
	if m.err != nil {
		why = m.err.Error()
	}
	if why != "" && why != c.unseen.IMEX {
		c.log.Warn("how IMEX is, is known in part only", "error", m.err)
	}
	c.unseen.IMEX = why
	c.step(now, m.seen)
}
