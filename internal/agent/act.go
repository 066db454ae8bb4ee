package agent

import (
	"context"
	"log/slog"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"sync"
	"time"

	"github.com/gpuhealthd/gpuhealthd/remediate"
)

// The pauses between two tries while the API server does not take a write.
const (
	firstPause = 500 * time.Millisecond
	lastPause  = 30 * time.Second
	// tryLimit is how long one try may take.
	tryLimit = 15 * time.Second
)

// actor carries out what the plan wants, the newest wish only, until it is so.
type actor struct {
	log     *slog.Logger
	act     Actuator
	core    *core
	metrics *Metrics
	wake    chan struct{}

	mu     sync.Mutex
	wanted *remediate.Desired
	events []remediate.Event

	// sent holds the keys of events that were taken and that the core has still
	// to strike off.
	sent map[string]bool
}

func newActor(opts Options, c *core) *actor {
	return &actor{log: opts.Log, act: opts.Actuator, core: c, metrics: opts.Metrics, wake: make(chan struct{}, 1), sent: map[string]bool{}}
}

// want takes the newest wish; it never waits. A wish that is the old one wakes
// nobody.
func (a *actor) want(d remediate.Desired, events []remediate.Event) {
	a.mu.Lock()
	news := a.wanted == nil || !reflect.DeepEqual(*a.wanted, d) || len(events) > 0 && !slices.Equal(a.events, events)
	a.wanted, a.events = &d, events
	a.mu.Unlock()
	if news {
		a.poke()
	}
}

// poke has the newest wish applied anew: somebody else changed the Node.
func (a *actor) poke() {
	select {
	case a.wake <- struct{}{}:
	default:
	}
}

func (a *actor) newest() (*remediate.Desired, []remediate.Event) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.wanted, a.events
}

// run applies until ctx is done.
func (a *actor) run(ctx context.Context) {
	pause := firstPause
	retry := time.NewTimer(0)
	defer retry.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-a.wake:
		case <-retry.C:
		}
		if a.once(ctx) {
			pause = firstPause
			retry.Stop()
			continue
		}
		retry.Reset(pause/2 + rand.N(pause/2))
		pause = min(2*pause, lastPause)
	}
}

// once brings the Node to the newest wish and tells the events; it says whether
// all of that is done.
func (a *actor) once(ctx context.Context) bool {
	want, events := a.newest()
	if want == nil {
		return true
	}
	done := a.apply(ctx, *want)
	maps.DeleteFunc(a.sent, func(key string, _ bool) bool {
		return !slices.ContainsFunc(events, func(e remediate.Event) bool { return e.Key == key })
	})
	for _, e := range events {
		if !a.sent[e.Key] {
			done = a.emit(ctx, e) && done
		}
	}
	return done
}

func (a *actor) apply(ctx context.Context, want remediate.Desired) bool {
	ctx, cancel := context.WithTimeout(ctx, tryLimit)
	defer cancel()
	seen, err := a.act.Apply(ctx, want)
	a.metrics.applied(err)
	if err != nil {
		a.core.trouble.Store(&Trouble{Error: err.Error(), At: time.Now()})
		a.log.Error("the Node does not say what it should", "error", err)
		return false
	}
	a.core.trouble.Store(nil)
	a.core.tell(ctx, nodeSeen{seen})
	return true
}

func (a *actor) emit(ctx context.Context, e remediate.Event) bool {
	ctx, cancel := context.WithTimeout(ctx, tryLimit)
	defer cancel()
	if err := a.act.Emit(ctx, e); err != nil {
		a.metrics.eventFailed()
		a.log.Warn("an event was not taken", "event", e.Key, "error", err)
		return false
	}
	a.sent[e.Key] = true
	a.core.tell(ctx, told{e.Key})
	return true
}
