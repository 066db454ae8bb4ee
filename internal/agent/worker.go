package agent

import (
	"context"
	"math/rand/v2"
	"time"
)

// The pauses between two tries while the API server does not take a write.
const (
	firstPause = 500 * time.Millisecond
	lastPause  = 10 * time.Second
	// tryLimit is how long one try may take.
	tryLimit = 15 * time.Second
)

// worker does one thing whenever it is woken, and again with growing pauses
// until it has worked.
type worker struct {
	wake bell
	// rest is how long it waits when it is woken.
	rest time.Duration
	// once says whether all is done.
	once func(ctx context.Context) bool
}

func newWorker(once func(context.Context) bool) worker {
	return worker{wake: newBell(), once: once}
}

// poke wakes the worker; it never waits.
func (w worker) poke() {
	w.wake.ring()
}

func (w worker) pause(ctx context.Context) {
	if w.rest == 0 {
		return
	}
	select {
	case <-ctx.Done():
	case <-time.After(w.rest):
	}
}

// run works until ctx is done.
func (w worker) run(ctx context.Context) {
	pause := firstPause
	retry := time.NewTimer(lastPause)
	retry.Stop()
	defer retry.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-w.wake:
			w.pause(ctx)
		case <-retry.C:
		}
		if w.once(ctx) {
			pause = firstPause
			retry.Stop()
			continue
		}
		retry.Reset(pause/2 + rand.N(pause/2))
		pause = min(2*pause, lastPause)
	}
}
