package agent

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/gpuhealthd/gpuhealthd/fault"
	"github.com/gpuhealthd/gpuhealthd/remediate"
)

// Occupant tells who holds the node's GPUs. What cannot be told is in the answer.
type Occupant interface {
	Occupancy(ctx context.Context) remediate.Occupancy
}

// occupied is who holds the GPUs that the plan asks about.
type occupied struct{ occupancy remediate.Occupancy }

func (occupied) isMessage() {}

// lookEvery is the time between two looks at who holds a GPU, while the plan
// has to know; lookLimit is how long one may take.
const (
	lookEvery = 5 * time.Second
	lookLimit = 10 * time.Second
)

// looker looks who holds the GPUs that the plan asks about, and only then.
type looker struct {
	core     *core
	occupant Occupant
	wake     bell

	mu    sync.Mutex
	gpus  []fault.Device
	since time.Time
}

func newLooker(opts Options, c *core) *looker {
	return &looker{core: c, occupant: opts.Occupant, wake: newBell()}
}

// want takes the GPUs to be looked at, at once where the last look was before since;
// none ends it.
func (l *looker) want(gpus []fault.Device, since time.Time) {
	l.mu.Lock()
	news := !slices.Equal(l.gpus, gpus) || since.After(l.since)
	l.gpus, l.since = gpus, since
	l.mu.Unlock()
	if news {
		l.wake.ring()
	}
}

func (l *looker) wanted() []fault.Device {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.gpus
}

// run looks until ctx is done.
func (l *looker) run(ctx context.Context) {
	again := time.NewTimer(lookEvery)
	again.Stop()
	defer again.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-l.wake:
		case <-again.C:
		}
		gpus := l.wanted()
		if len(gpus) == 0 || l.occupant == nil {
			again.Stop()
			continue
		}
		try, cancel := context.WithTimeout(ctx, lookLimit)
		seen := l.occupant.Occupancy(try)
		cancel()
		l.core.tell(ctx, occupied{seen})
		again.Reset(lookEvery)
	}
}
