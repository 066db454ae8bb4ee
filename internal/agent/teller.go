package agent

import (
	"cmp"
	"context"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/gpuhealthd/gpuhealthd/remediate"
)

// headStart is how long an event stands back behind the cordon that it tells
// of, which has the disk and the API server to itself meanwhile.
const headStart = 200 * time.Millisecond

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
	// sent holds the events that were taken and that the core has still to strike
	// off.
	sent map[remediate.Event]bool
}

func newTeller(opts Options, c *core) *teller {
	t := &teller{log: opts.Log, act: opts.Actuator, core: c, metrics: opts.Metrics, sent: map[remediate.Event]bool{}}
	t.worker = newWorker(t.tell)
	t.rest = headStart
	return t
}

// have takes the present outbox.
func (t *teller) have(events []remediate.Event) {
	t.mu.Lock()
	news := len(events) > 0 && !slices.Equal(t.events, events)
	t.events = events
	maps.DeleteFunc(t.sent, func(e remediate.Event, _ bool) bool { return !slices.Contains(events, e) })
	t.mu.Unlock()
	if news {
		t.poke()
	}
}

// untold gives the events that nobody has taken yet, the oldest first.
func (t *teller) untold() []remediate.Event {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(t.events), func(e remediate.Event) bool { return t.sent[e] })
}

// tell tries every event once: one that is refused does not hold up the others.
func (t *teller) tell(ctx context.Context) bool {
	var first error
	var taken []remediate.Event
	untold := t.untold()
	for _, e := range untold {
		if err := t.emit(ctx, e); err != nil {
			t.metrics.eventErrors.Inc()
			first = cmp.Or(first, err)
			continue
		}
		taken = append(taken, e)
	}
	if len(taken) > 0 {
		t.core.tell(ctx, told{taken})
	}
	t.core.untold.Store(nil)
	if first != nil {
		t.core.untold.Store(&Trouble{Error: first.Error(), At: time.Now()})
		t.log.Warn("events were not taken", "events", len(untold)-len(taken), "error", first)
	}
	return first == nil
}

func (t *teller) emit(ctx context.Context, e remediate.Event) error {
	try, cancel := context.WithTimeout(ctx, tryLimit)
	defer cancel()
	if err := t.act.Emit(try, e); err != nil {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.sent[e] = true
	return nil
}
