// Package logact is the actuator that writes what it would do, and does
// nothing else: for observing a fleet, and where there is no cluster.
//
// It keeps a Node in its head, which says what was applied to it, so that the
// plan goes on as it would on a real one. No administrator ever touches that
// Node.
package logact

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"

	"github.com/gpuhealthd/gpuhealthd/remediate"
)

// Actuator logs at level Info, one line for each thing that it would change.
// Its methods may be called from any goroutine.
type Actuator struct {
	log *slog.Logger

	mu   sync.Mutex
	said remediate.Desired
	node remediate.Observed
}

// New returns an actuator for a Node that says nothing yet.
func New(log *slog.Logger) *Actuator {
	return &Actuator{log: log, node: remediate.Observed{Exists: true}}
}

// Apply logs what differs from the wish before. It never fails.
func (a *Actuator) Apply(_ context.Context, want remediate.Desired) (remediate.Observed, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if want.Look {
		return a.node, nil
	}
	next := remediate.Settle(want, a.node)
	a.cordon(next)
	a.taint(want, next)
	a.labels(want)
	a.mark(next)
	a.keep(next)
	a.condition(remediate.ConditionGPU, a.said.GPU, want.GPU)
	a.condition(remediate.ConditionNVLink, a.said.NVLink, want.NVLink)
	a.said, a.node = want, next
	return next, nil
}

// Emit logs an event. It never fails.
func (a *Actuator) Emit(_ context.Context, event remediate.Event) error {
	a.say("would tell %s event %s: %s", event.Type, event.Reason, event.Message)
	return nil
}

func (a *Actuator) cordon(next remediate.Observed) {
	switch {
	case next.Unschedulable && !a.node.Unschedulable:
		a.say("would cordon the node")
	case !next.Unschedulable && a.node.Unschedulable:
		a.say("would uncordon the node")
	}
}

func (a *Actuator) taint(want remediate.Desired, next remediate.Observed) {
	switch {
	case next.Tainted && (!a.node.Tainted || want.Fault != a.said.Fault):
		a.say("would taint %s=%s:NoSchedule", remediate.TaintQuarantine, want.Fault)
	case !next.Tainted && a.node.Tainted:
		a.say("would remove the taint %s", remediate.TaintQuarantine)
	}
}

func (a *Actuator) labels(want remediate.Desired) {
	had, have := a.said.Labels(), want.Labels()
	for _, key := range slices.Sorted(maps.Keys(have)) {
		if had[key] != have[key] {
			a.say("would label %s=%s", key, have[key])
		}
	}
	for _, key := range slices.Sorted(maps.Keys(had)) {
		if have[key] == "" {
			a.say("would remove the label %s", key)
		}
	}
}

func (a *Actuator) mark(next remediate.Observed) {
	switch {
	case next.Note == nil && a.node.Note != nil:
		a.say("would remove the mark of incident %s", a.node.Note.ID)
	case next.Note != nil && (a.node.Note == nil || next.Note.ID != a.node.Note.ID || next.Note.Step != a.node.Note.Step):
		a.say("would mark incident %s: %s, step %s, GPUs %v", next.Note.ID, next.Note.Fault, next.Note.Step, next.Note.GPUs)
	}
}

func (a *Actuator) keep(next remediate.Observed) {
	for _, key := range remediate.KeepAnnotations() {
		switch had, have := a.node.Kept[key], next.Kept[key]; {
		case had == "" && have != "":
			a.say("would annotate %s=%s", key, have)
		case had != "" && have == "":
			a.say("would remove the annotation %s", key)
		}
	}
}

func (a *Actuator) condition(kind string, had, want remediate.Condition) {
	if want.Status != "" && want != had {
		a.say("would set the condition %s=%s (%s): %s", kind, want.Status, want.Reason, want.Message)
	}
}

func (a *Actuator) say(format string, args ...any) { a.log.Info(fmt.Sprintf(format, args...)) }
