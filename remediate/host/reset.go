package host

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/gpuhealthd/gpuhealthd/fault"
	"github.com/gpuhealthd/gpuhealthd/remediate"
)

const (
	// quietLimit is how long our children may take to let go: a driver call of
	// theirs may first have to meet its deadline.
	quietLimit = time.Minute
	// restoreLimit is how long it may take to put everything back.
	restoreLimit = 2 * time.Minute
	// holdersAgain is the time between two looks at who holds the GPUs.
	holdersAgain = time.Second
)

// Children are our own processes, which may hold GPUs.
type Children interface {
	// Quiet makes them let go of every GPU, and keeps them so until Resume.
	Quiet(ctx context.Context) error
	Resume()
}

// Operands are the services on the node's GPUs that somebody else's operator runs.
// Both may be called any number of times.
type Operands interface {
	// Pause stops them and waits until they have gone, or have had their time: that
	// some are still there is no error.
	Pause(ctx context.Context) error
	// Restore lets them run again, also those that an agent before us has paused.
	Restore(ctx context.Context) error
}

// Holders tells who holds GPUs. With an error it cannot be told.
type Holders func(ctx context.Context, gpus []fault.Device) ([]remediate.Holder, error)

// Reset resets GPUs with nvidia-smi.
type Reset struct {
	Config Config
	// Children and Operands may be nil: there are none.
	Children Children
	Operands Operands
	Holders  Holders
}

// The words of Deed.Undo; behind persistence stands a GPU's address.
const (
	undoOperands    = "operands"
	undoPersistence = "persistence "
)

// Do resets the deed's GPUs: all of them, or none where one is held. It returns
// when everything is put back, or tells what could not be.
func (r *Reset) Do(ctx context.Context, deed remediate.Deed, owe remediate.Owe) (outcome remediate.Outcome) {
	ctx, cancel := until(ctx, deed.Deadline)
	defer cancel()
	a := &attempt{Reset: r, gpus: deed.GPUs, write: owe, owed: slices.Clone(deed.Undo)}
	said, err := a.run(ctx)
	outcome = a.outcome(ctx, deed.ID, said, err)
	back, cancelBack := context.WithTimeout(context.WithoutCancel(ctx), restoreLimit)
	defer cancelBack()
	var failed error
	if outcome.Owed, failed = r.putBack(back, a.owed); failed != nil {
		outcome.Text += "; " + failed.Error()
	}
	if r.Children != nil {
		r.Children.Resume()
	}
	return outcome
}

// until is the context of a deed. One without a deadline has only the steps' own.
func until(ctx context.Context, deadline time.Time) (context.Context, context.CancelFunc) {
	if deadline.IsZero() {
		return context.WithCancel(ctx)
	}
	return context.WithDeadline(ctx, deadline)
}

// Undo puts back what the deed has changed.
func (r *Reset) Undo(ctx context.Context, deed remediate.Deed) error {
	_, err := r.putBack(ctx, deed.Undo)
	return err
}

// attempt is one reset on its way.
type attempt struct {
	*Reset
	gpus  []fault.Device
	write remediate.Owe
	owed  []string
}

// refusal is the end of a reset that was not tried.
type refusal struct {
	text    string
	holders []remediate.Holder
}

func (r refusal) Error() string { return r.text }

func (a *attempt) run(ctx context.Context) (said string, err error) {
	for _, step := range []func(context.Context) error{a.quiet, a.pause, a.release, a.free} {
		if err := step(ctx); err != nil {
			return "", err
		}
	}
	return a.reset(ctx)
}

func (a *attempt) outcome(ctx context.Context, deed, said string, err error) remediate.Outcome {
	o := remediate.Outcome{Deed: deed, Result: remediate.Succeeded, Text: said}
	var refused refusal
	switch {
	case err == nil:
		return o
	case errors.As(err, &refused):
		o.Result, o.Holders = remediate.Refused, refused.holders
	case errors.Is(ctx.Err(), context.Canceled):
		o.Result = remediate.Aborted
	case errors.Is(err, errNobody):
		o.Result = remediate.Unavailable
	default:
		o.Result = remediate.Unsuccessful
	}
	o.Text = err.Error()
	return o
}

// owe writes down what has to be put back, once.
func (a *attempt) owe(ctx context.Context, undo string) error {
	if slices.Contains(a.owed, undo) {
		return nil
	}
	if err := a.write(ctx, undo); err != nil {
		return fmt.Errorf("write down that %q is to be put back: %w", undo, err)
	}
	a.owed = append(a.owed, undo)
	return nil
}

// pause stops the operator's services.
func (a *attempt) pause(ctx context.Context) error {
	if a.Operands == nil {
		return nil
	}
	if err := a.owe(ctx, undoOperands); err != nil {
		return err
	}
	if err := a.Operands.Pause(ctx); err != nil {
		return fmt.Errorf("pause the operator's services: %w", err)
	}
	return nil
}

// free returns when nobody holds the GPUs, or names who still does after
// Config.Patience: a process takes a moment to let go.
func (a *attempt) free(ctx context.Context) error {
	limit := time.NewTimer(a.Config.Patience)
	defer limit.Stop()
	for {
		err := a.held(ctx)
		if err == nil {
			return nil
		}
		again := time.NewTimer(holdersAgain)
		select {
		case <-again.C:
			continue
		case <-limit.C:
		case <-ctx.Done():
		}
		again.Stop()
		return err
	}
}

// held is a refusal that names who holds the GPUs, or says that nobody knows:
// unknown is never free.
func (a *attempt) held(ctx context.Context) error {
	holders, err := a.Holders(ctx, a.gpus)
	if err != nil {
		return refusal{text: fmt.Sprintf("who holds the GPUs cannot be told: %v", err)}
	}
	if len(holders) > 0 {
		return refusal{text: "held by " + names(holders), holders: holders}
	}
	return nil
}
