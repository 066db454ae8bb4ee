package host

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/gpuhealthd/gpuhealthd/remediate"
	"github.com/gpuhealthd/gpuhealthd/remediate/command"
)

// Reboot reboots the host. That it happened only the next boot's id can prove, so
// a reboot that was accepted waits for the end of this process: whoever comes back
// knows.
type Reboot struct {
	Config Config
}

// Do asks for the reboot. It returns when that is refused, when the deed's deadline
// has passed and we are still there, or when ctx ends, as it does when the host
// stops us: then nobody knows yet.
func (r *Reboot) Do(ctx context.Context, deed remediate.Deed, _ remediate.Owe) remediate.Outcome {
	limited, cancel := until(ctx, deed.Deadline)
	defer cancel()
	o := remediate.Outcome{Deed: deed.ID}
	if err := ctx.Err(); err != nil {
		o.Result, o.Text = remediate.Aborted, err.Error()
		return o
	}
	argv := r.Config.argv(r.Config.Reboot...)
	ran, err := command.Run(limited, argv, nil)
	switch {
	case err != nil && limited.Err() == nil:
		o.Result, o.Text = remediate.Unavailable, err.Error()
		return o
	// A program that was ended by a signal may have been by the shutdown it began.
	case err == nil && ran.Exit != 0 && ran.Signal == "":
		o.Result, o.Text = remediate.Unsuccessful, fmt.Sprintf("%s: %s", strings.Join(argv, " "), ended(ran))
		return o
	}
	<-limited.Done()
	if errors.Is(ctx.Err(), context.Canceled) {
		o.Result, o.Text = remediate.Undecided, "a reboot was asked for, and we were stopped: the boot's id will tell"
		return o
	}
	o.Result = remediate.Unsuccessful
	o.Text = fmt.Sprintf("%s was accepted, and the host was still up at the deadline", strings.Join(argv, " "))
	if err != nil {
		o.Text = err.Error()
	}
	return o
}

// Undo has nothing to put back.
func (r *Reboot) Undo(context.Context, remediate.Deed) error { return nil }
