package slurm

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gpuhealthd/gpuhealthd/remediate"
)

// Node is our own node in Slurm. Its methods may be called from any goroutine.
type Node struct {
	config Config
	log    *slog.Logger

	mu sync.Mutex
	// ours says that the node had a mark of ours when it was looked at last, or
	// that nobody has looked yet; then is what it was found to be.
	ours bool
	then remediate.Observed
}

// New asks Slurm nothing yet. log hears the events, for which Slurm has no place.
func New(config Config, log *slog.Logger) *Node {
	return &Node{config: config, log: log, ours: true}
}

// Apply drains or resumes the node, and returns what Slurm says of it then. A node
// that is not drained, and need not be, is not even looked at.
func (n *Node) Apply(ctx context.Context, want remediate.Desired) (remediate.Observed, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if !want.Quarantine && !want.Look && !n.ours {
		return n.then, nil
	}
	have, err := n.config.show(ctx)
	if err != nil {
		return n.then, fmt.Errorf("apply: %w", err)
	}
	if have.is("REBOOT_ISSUED") {
		return n.then, fmt.Errorf("%w: node %s is %s: Slurm will resume it, and it is drained only after that", remediate.ErrLater, n.config.Node, have.state())
	}
	seen := observed(have)
	if want.Look {
		n.ours, n.then = seen.Note != nil, seen
		return seen, nil
	}
	next := remediate.Settle(want, remembered(want, seen))
	if err := n.write(ctx, have, next); err != nil {
		return seen, fmt.Errorf("apply: %w", err)
	}
	n.ours, n.then = next.Note != nil, next
	return next, nil
}

// observed is what the plan is told of a node. Slurm has no taints: the drain is
// both.
func observed(s shown) remediate.Observed {
	o := remediate.Observed{Exists: true, Unschedulable: s.drained()}
	if o.Unschedulable {
		o.Note = noteOf(s.reason)
		o.Tainted = o.Note != nil
	}
	return o
}

// remembered adds to what Slurm says what the plan has seen before: the node was
// drained for the incident in this boot, is not any more, and nobody but an
// administrator resumes it.
func remembered(want remediate.Desired, have remediate.Observed) remediate.Observed {
	if want.Note == nil || have.Unschedulable || slices.Contains(want.Unseen, want.Note.ID) {
		return have
	}
	note := *want.Note
	note.Owner = remediate.OwnerAgent
	have.Note = &note
	return have
}

// write makes the one change that leads from what the node is to what it shall be.
// A drain that is not ours is left as it is.
func (n *Node) write(ctx context.Context, have shown, next remediate.Observed) error {
	ours := have.drained() && noteOf(have.reason) != nil
	switch {
	case have.drained() && !ours:
		return nil
	case ours && !next.Unschedulable:
		return n.config.resume(ctx)
	case !next.Unschedulable || next.Note == nil:
		return nil
	}
	reason := reasonOf(*next.Note)
	if ours && (have.is("REBOOT_REQUESTED") || strings.HasPrefix(have.reason, reason)) {
		return nil
	}
	return n.config.drain(ctx, reason)
}

// Emit logs an event.
func (n *Node) Emit(_ context.Context, event remediate.Event) error {
	n.log.Info("event", "type", event.Type, "reason", event.Reason, "message", event.Message)
	return nil
}

// Watch calls changed every Period until ctx ends: Slurm tells nobody of a resume.
// The first call comes at a random moment, so that a fleet does not ask at once.
func (n *Node) Watch(ctx context.Context, changed func()) {
	wait := rand.N(n.config.Period)
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}
		changed()
		wait = n.config.Period
	}
}
