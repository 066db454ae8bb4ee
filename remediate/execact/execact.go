package execact

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/gpuhealthd/gpuhealthd/remediate"
	"github.com/gpuhealthd/gpuhealthd/remediate/command"
)

// Config says which programs, with their arguments.
type Config struct {
	Node                string
	Quarantine, Release []string
	// Deadline is how long one run may take.
	Deadline time.Duration
	// Path is the file that says what was done; its folder must exist.
	Path string
}

// Request is what a program is asked, and about which incident.
type Request struct {
	// Command is quarantine or release.
	Command string              `json:"command"`
	Node    string              `json:"node"`
	State   remediate.NodeState `json:"state"`
	// Incident is the one that the node is, or was, held for.
	Incident remediate.Note `json:"incident"`
	// GPUsHealthy is a count; absent while it is not known.
	GPUsHealthy *int `json:"gpusHealthy,omitempty"`
}

// noPermission is EX_NOPERM of sysexits.h.
const noPermission = 77

// Actuator runs the programs. Its methods may be called from any goroutine.
type Actuator struct {
	config Config
	log    *slog.Logger

	mu sync.Mutex
}

// New runs nothing yet. log hears the events.
func New(config Config, log *slog.Logger) *Actuator {
	return &Actuator{config: config, log: log}
}

// Apply runs quarantine or release where what was done last is not what is wanted.
func (a *Actuator) Apply(ctx context.Context, want remediate.Desired) (remediate.Observed, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	have, err := read(a.config.Path)
	if err != nil && !want.Quarantine { // a damaged memory keeps no sick node in service
		return remediate.Observed{}, err
	}
	switch {
	case want.Look:
		return have.observed(), nil
	case want.Quarantine && want.Note != nil:
		have, err = a.quarantine(ctx, have, want)
	case have.Incident != nil:
		have, err = a.release(ctx, have, want)
	}
	return have.observed(), err
}

func (a *Actuator) quarantine(ctx context.Context, have mark, want remediate.Desired) (mark, error) {
	if have.Done && same(*have.Incident, *want.Note) {
		return have, nil
	}
	note := *want.Note
	note.Owner = remediate.OwnerAgent
	next := mark{Incident: &note}
	// A disk that is full keeps no sick node in service.
	unwritten := next.write(a.config.Path)
	if err := a.run(ctx, a.config.Quarantine, "quarantine", want, note); err != nil {
		return next, errors.Join(err, unwritten)
	}
	next.Done = true
	return next, next.write(a.config.Path)
}

func (a *Actuator) release(ctx context.Context, have mark, want remediate.Desired) (mark, error) {
	if err := a.run(ctx, a.config.Release, "release", want, *have.Incident); err != nil {
		return have, err
	}
	return mark{}, remove(a.config.Path)
}

// same says whether two notes are the same to a program: the step of the plan is
// none of its business.
func same(a, b remediate.Note) bool {
	return a.ID == b.ID && a.Fault == b.Fault && slices.Equal(a.GPUs, b.GPUs)
}

func (a *Actuator) run(ctx context.Context, argv []string, what string, want remediate.Desired, about remediate.Note) error {
	ctx, cancel := context.WithTimeout(ctx, a.config.Deadline)
	defer cancel()
	stdin, err := json.Marshal(Request{Command: what, Node: a.config.Node, State: want.State, Incident: about, GPUsHealthy: want.GPUsHealthy})
	if err != nil {
		return fmt.Errorf("%s for incident %s: %w", what, about.ID, err)
	}
	r, err := command.Run(ctx, argv, append(stdin, '\n'))
	switch {
	case errors.Is(err, context.DeadlineExceeded) && errors.Is(ctx.Err(), context.DeadlineExceeded):
		return fmt.Errorf("%s for incident %s: %s was ended past exec.deadline, %s: %w", what, about.ID, argv[0], a.config.Deadline, err)
	case err != nil:
		return fmt.Errorf("%s for incident %s: %w", what, about.ID, err)
	case r.Exit == 0:
		return nil
	}
	err = fmt.Errorf("%s for incident %s: %s ended with exit status %d %s: %s", what, about.ID, argv[0], r.Exit, r.Signal, r.Output)
	if r.Exit == noPermission {
		err = fmt.Errorf("%w: %w", remediate.ErrForbidden, err)
	}
	return err
}

// Emit logs an event.
func (a *Actuator) Emit(_ context.Context, event remediate.Event) error {
	a.log.Info("event", "type", event.Type, "reason", event.Reason, "message", event.Message)
	return nil
}
