package agent

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/gpuhealthd/gpuhealthd/remediate"
)

// Doer does deeds of one kind.
type Doer interface {
	// Do does a deed and returns when it is over, or soon after ctx is done, which
	// is at the deed's deadline, or when the deed is called off.
	Do(ctx context.Context, d remediate.Deed, owe remediate.Owe) remediate.Outcome
	// Undo puts back what a deed owes. It may be called any number of times.
	Undo(ctx context.Context, d remediate.Deed) error
}

// errCalledOff is the cause of a deed's context that the plan wants no more.
var errCalledOff = errors.New("called off")

// owes is one thing that a deed under way will have to put back.
type owes struct {
	deed, undo string
	written    chan error
}

// over is the end of a deed.
type over struct{ outcome remediate.Outcome }

// undone says that a deed owes nothing any more.
type undone struct{ deed string }

func (owes) isMessage()   {}
func (over) isMessage()   {}
func (undone) isMessage() {}

// doer does the deed that the plan has under way, one at a time.
type doer struct {
	log   *slog.Logger
	core  *core
	doers map[remediate.StepKind]Doer
	wake  bell

	mu     sync.Mutex
	wanted *remediate.Deed
}

func newDoer(opts Options, c *core) *doer {
	return &doer{log: opts.Log, core: c, doers: opts.Doers, wake: newBell()}
}

// want takes the deed that shall be under way; nil for none.
func (d *doer) want(deed *remediate.Deed) {
	d.mu.Lock()
	news := !sameDeed(d.wanted, deed)
	d.wanted = deed
	d.mu.Unlock()
	if news {
		d.wake.ring()
	}
}

func (d *doer) newest() *remediate.Deed {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.wanted
}

// sameDeed says whether two are one: a deed and its undoing are not.
func sameDeed(a, b *remediate.Deed) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.ID == b.ID && a.Undoing == b.Undoing
}

// run does deeds until ctx is done. A deed that is not wanted any more is called
// off, and waited for before the next is begun.
func (d *doer) run(ctx context.Context) {
	var deed, last *remediate.Deed // last has been told of, and may still be published
	callOff := context.CancelCauseFunc(func(error) {})
	ended := make(chan struct{})
	for {
		select {
		case <-ctx.Done():
			if deed != nil {
				<-ended
			}
			return
		case <-ended:
			callOff(nil)
			deed, last = nil, deed
		case <-d.wake:
		}
		want := d.newest()
		switch {
		case deed != nil && !sameDeed(deed, want):
			callOff(errCalledOff)
		case deed == nil && want != nil && !sameDeed(want, last):
			deed = want
			callOff = d.begin(ctx, *want, ended)
		}
	}
}

// begin does a deed in the background, and gives the way to call it off.
func (d *doer) begin(ctx context.Context, deed remediate.Deed, ended chan<- struct{}) context.CancelCauseFunc {
	now, callOff := context.WithCancelCause(ctx)
	go func() {
		d.do(ctx, now, deed)
		ended <- struct{}{}
	}()
	return callOff
}

// do does or undoes one deed and tells how that ended, one that was called off as well:
// its report is kept. What an agent that is stopped, by life, has not finished is left
// to the next.
func (d *doer) do(life, ctx context.Context, deed remediate.Deed) {
	log := d.log.With("deed", deed.ID, "kind", deed.Kind, "gpus", names(deed.GPUs), "incidents", deed.Incidents)
	who := d.doers[deed.Kind]
	switch {
	case who == nil:
		d.core.tell(ctx, over{remediate.Outcome{Deed: deed.ID, Result: remediate.Unavailable, Text: "this agent does not do it"}})
	case deed.Undoing:
		d.undo(ctx, log, who, deed)
	default:
		log.Info("begun", "until", deed.Deadline)
		try, cancel := context.WithDeadline(ctx, deed.Deadline)
		defer cancel()
		o := who.Do(try, deed, d.owe(deed.ID))
		log.Info("ended", "result", o.Result, "text", o.Text)
		o.Deed = deed.ID
		if len(o.Owed) == 0 {
			d.core.tell(ctx, undone{deed.ID})
		}
		d.core.tell(life, over{o})
	}
}

// undoLimit is how long one try to put something back may take.
const undoLimit = 2 * time.Minute

// undo puts back what a deed of an agent that died owes, and does not give up.
func (d *doer) undo(ctx context.Context, log *slog.Logger, who Doer, deed remediate.Deed) {
	for pause := firstPause; ctx.Err() == nil; pause = min(2*pause, lastPause) {
		try, cancel := context.WithTimeout(ctx, undoLimit)
		err := who.Undo(try, deed)
		cancel()
		if err == nil {
			d.core.tell(ctx, undone{deed.ID})
			return
		}
		log.Error("what a deed has changed cannot be put back yet", "owed", deed.Undo, "error", err)
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
	}
}

// owe gives a deed its way to write down what it will have to put back.
func (d *doer) owe(deed string) remediate.Owe {
	return func(ctx context.Context, undo string) error {
		m := owes{deed: deed, undo: undo, written: make(chan error, 1)}
		d.core.tell(ctx, m)
		select {
		case err := <-m.written:
			return err
		case <-ctx.Done():
			return fmt.Errorf("write down what %s owes: %w", deed, context.Cause(ctx))
		}
	}
}
