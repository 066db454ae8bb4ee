package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gpuhealthd/gpuhealthd/remediate"
)

// world is a Node and its events, as an API server would hold them. The hooks
// run before a call takes effect; an error or a wait there is the call's own.
type world struct {
	onApply func(context.Context, remediate.Desired) error
	onEmit  func(context.Context, remediate.Event) error

	mu      sync.Mutex
	node    remediate.Observed
	desired remediate.Desired
	asked   []time.Time
	applied []remediate.Desired
	// history is how the Node went in and out of service.
	history []string
	events  []remediate.Event
}

func newWorld() *world {
	return &world{
		onApply: func(context.Context, remediate.Desired) error { return nil },
		onEmit:  func(context.Context, remediate.Event) error { return nil },
		node:    remediate.Observed{Exists: true, UID: "uid-1", Offered: remediate.Offered{Capacity: gpus, Allocatable: gpus}},
	}
}

func (w *world) Apply(ctx context.Context, want remediate.Desired) (remediate.Observed, error) {
	w.mu.Lock()
	w.asked = append(w.asked, time.Now())
	w.mu.Unlock()
	if err := w.onApply(ctx, want); err != nil {
		return remediate.Observed{}, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	before := w.node
	w.node, w.desired = remediate.Settle(want, w.node), want
	if w.node.Unschedulable != before.Unschedulable {
		w.history = append(w.history, fmt.Sprintf("unschedulable %v for %s", w.node.Unschedulable, want.Fault))
	}
	w.applied = append(w.applied, want)
	return w.node, nil
}

// Emit takes an event whose name is there already for told, as the real
// actuator does.
func (w *world) Emit(ctx context.Context, e remediate.Event) error {
	if err := w.onEmit(ctx, e); err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, had := range w.events {
		if had.Key == e.Key {
			return nil
		}
	}
	w.events = append(w.events, e)
	return nil
}

func (w *world) state() (remediate.Observed, remediate.Desired) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.node, w.desired
}

func (w *world) cordoned() bool {
	node, _ := w.state()
	return node.Unschedulable && node.Tainted
}

// tries gives the times at which Apply was called.
func (w *world) tries() []time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.asked)
}

// told gives the events' keys in the order in which they arrived.
func (w *world) told() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var keys []string
	for _, e := range w.events {
		keys = append(keys, e.Key)
	}
	return keys
}

// said says whether an event of some kind has been told.
func (w *world) said(reason string) bool {
	return slices.ContainsFunc(w.told(), func(key string) bool { return strings.HasSuffix(key, "/"+reason) })
}

// uncordon is an administrator's.
func (w *world) uncordon() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.node.Unschedulable = false
	w.history = append(w.history, "uncordoned by hand")
}

var errAway = errors.New("the API server is away")

// blocks is a hook's body that never comes back by itself.
func blocks(ctx context.Context) error {
	<-ctx.Done()
	return ctx.Err()
}
