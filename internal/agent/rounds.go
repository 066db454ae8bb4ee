package agent

import (
	"context"
	"sync/atomic"
	"time"
)

// rounds looks at something while that is wanted: at once, and then in each period.
type rounds struct {
	period time.Duration
	// limit is how long one look may take.
	limit time.Duration
	look  func(ctx context.Context) message
	core  *core

	wanted atomic.Bool
	wake   bell
}

func newRounds(c *core, period, limit time.Duration, look func(context.Context) message) *rounds {
	return &rounds{core: c, period: period, limit: limit, look: look, wake: newBell()}
}

// want begins, or ends it.
func (r *rounds) want(yes bool) {
	if was := r.wanted.Swap(yes); was || !yes {
		return
	}
	r.wake.ring()
}

// run looks until ctx is done.
func (r *rounds) run(ctx context.Context) {
	again := time.NewTicker(r.period)
	defer again.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-again.C:
		case <-r.wake:
			again.Reset(r.period)
		}
		if !r.wanted.Load() {
			continue
		}
		try, cancel := context.WithTimeout(ctx, r.limit)
		seen := r.look(try)
		cancel()
		r.core.tell(ctx, seen)
	}
}
