package request

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/gpuhealthd/gpuhealthd/remediate"
)

// every is the time between two looks for an answer.
const every = 5 * time.Second

// The words of Deed.Undo: a request that may stand, and one that surely did.
const (
	undoRequest = "request"
	undoMade    = "request made"
)

// way is how something is asked for.
type way interface {
	// look finds the deed's request, and the answer to it.
	look(ctx context.Context, deed remediate.Deed) (standing, error)
	// ask makes the request.
	ask(ctx context.Context, deed remediate.Deed) error
	// withdraw takes the request back. There may be none.
	withdraw(ctx context.Context, deed remediate.Deed) error
}

// Children are our own processes, which may hold GPUs: whoever resets them would be
// refused because of us.
type Children interface {
	// Quiet makes them let go of every GPU, and keeps them so until Resume.
	Quiet(ctx context.Context) error
	Resume()
}

// standing is what has become of a request.
type standing struct {
	// made: it is there.
	made bool
	// result is empty while there is no answer.
	result remediate.Result
	text   string
}

// errNobody means that trying again helps nothing: there is nobody to ask, or we
// may not.
var errNobody = errors.New("cannot be asked for")

// Request asks for deeds in one way. Annotation and Resource make one.
type Request struct {
	// Children may be nil: there are none.
	Children Children

	way   way
	node  node
	every time.Duration
}

// Do asks for the deed, or goes on with a request that an agent before us has made,
// and returns with the answer or when the deed's deadline has passed. The request
// still stands then, and is owed: an answer that was taken away before it was
// written down would be lost with an agent that dies in between.
func (r *Request) Do(ctx context.Context, deed remediate.Deed, owe remediate.Owe) remediate.Outcome {
	limited, cancel := ctx, context.CancelFunc(func() {})
	if !deed.Deadline.IsZero() {
		limited, cancel = context.WithDeadline(ctx, deed.Deadline)
	}
	defer cancel()
	o := r.try(limited, deed, owe)
	o.Owed = []string{undoRequest}
	if errors.Is(ctx.Err(), context.Canceled) && o.Result == remediate.Unsuccessful {
		o.Result, o.Text = remediate.Aborted, "stopped before there was an answer; the request still stands"
	}
	return o
}

// try asks with our own children out of the way.
func (r *Request) try(ctx context.Context, deed remediate.Deed, owe remediate.Owe) remediate.Outcome {
	if r.Children != nil && deed.Kind == remediate.StepReset {
		defer r.Children.Resume()
		if err := r.Children.Quiet(ctx); err != nil {
			return remediate.Outcome{Deed: deed.ID, Result: remediate.Refused,
				Text: fmt.Sprintf("our own processes do not let go: %v", err)}
		}
	}
	return r.follow(ctx, deed, owe)
}

// Undo takes the request back, if there is one. It tries until ctx ends.
func (r *Request) Undo(ctx context.Context, deed remediate.Deed) error {
	if len(deed.Undo) == 0 {
		return nil
	}
	return r.withdraw(ctx, deed)
}

func (r *Request) withdraw(ctx context.Context, deed remediate.Deed) error {
	for {
		err := r.way.withdraw(ctx, deed)
		if err == nil {
			return nil
		}
		if final(err) || !r.wait(ctx) {
			return fmt.Errorf("withdraw the request for %s: %w", deed.ID, err)
		}
	}
}

// wait pauses between two looks; false: ctx has ended.
func (r *Request) wait(ctx context.Context) bool {
	timer := time.NewTimer(r.every)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// final says whether another trial would end as this one. A refusal of the content
// is final too; a conflict, or a test that somebody else was faster than, is not.
func final(err error) bool {
	return errors.Is(err, errNobody) || apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err)
}

// follow makes the request and waits for its answer.
func (r *Request) follow(ctx context.Context, deed remediate.Deed, owe remediate.Owe) remediate.Outcome {
	f := &following{Request: r, deed: deed, owe: owe, made: slices.Contains(deed.Undo, undoMade)}
	if !f.made && !slices.Contains(deed.Undo, undoRequest) {
		if err := owe(ctx, undoRequest); err != nil {
			return f.end(remediate.Unavailable, fmt.Sprintf("write down that something is asked for: %v", err))
		}
	}
	for {
		if o, done := f.step(ctx); done {
			return o
		}
		if !r.wait(ctx) {
			return f.end(remediate.Unsuccessful, f.late())
		}
	}
}
