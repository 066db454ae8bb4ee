package agent

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"sync"

	"github.com/gpuhealthd/gpuhealthd/remediate"
)

// teller tells the events of the outbox. It works apart from the applier: no
// event holds up a cordon.
type teller struct {
	worker
	log     *slog.Logger
	act     Actuator
	core    *core
	metrics *Metrics

	mu     sync.Mutex
	events []remediate.Event

	// sent holds the keys of events that were taken and that the core has still
	// to strike off.
	sent map[string]bool
}

func newTeller(opts Options, c *core) *teller {
	t := &teller{log: opts.Log, act: opts.Actuator, core: c, metrics: opts.Metrics, sent: map[string]bool{}}
	t.worker = newWorker(t.tell)
	return t
}

// have takes the present outbox.
func (t *teller) have(events []remediate.Event) {
	t.mu.Lock()
	news := len(events) > 0 && !slices.Equal(t.events, events)
	t.events = events
	t.mu.Unlock()
	if news {
		t.poke()
	}
}

func (t *teller) outbox() []remediate.Event {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.events
}

func (t *teller) tell(ctx context.Context) bool {
	events := t.outbox()
	maps.DeleteFunc(t.sent, func(key string, _ bool) bool {
		return !slices.ContainsFunc(events, func(e remediate.Event) bool { return e.Key == key })
	})
	done := true
	for _, e := range events {
		if !t.sent[e.Key] {
			done = t.emit(ctx, e) && done
		}
	}
	return done
}

func (t *teller) emit(ctx context.Context, e remediate.Event) bool {
	try, cancel := context.WithTimeout(ctx, tryLimit)
	defer cancel()
	if err := t.act.Emit(try, e); err != nil {
		t.metrics.eventFailed()
		t.log.Warn("an event was not taken", "event", e.Key, "error", err)
		return false
	}
	t.sent[e.Key] = true
	t.core.tell(ctx, told{e.Key})
	return true
}
