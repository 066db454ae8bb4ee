package request

import (
	"context"
	"fmt"
	"time"

	"github.com/gpuhealthd/gpuhealthd/remediate"
)

// following is one request on its way.
type following struct {
	*Request
	deed remediate.Deed
	owe  remediate.Owe
	// made: the request was there, or somebody before us has seen it.
	made bool
	// claimed: the answer says that a reboot is done.
	claimed bool
	// trouble is why we have not been able to ask, or to look.
	trouble error
}

func (f *following) end(result remediate.Result, text string) remediate.Outcome {
	return remediate.Outcome{Deed: f.deed.ID, Result: result, Text: text}
}

// late says what was missing at the deadline.
func (f *following) late() string {
	text := "nobody has answered"
	switch {
	case f.claimed:
		text = "the answer says that it is done, and the Node still tells the same boot"
	case !f.made:
		text = "it could not be asked for"
	}
	text += " by the deadline, " + f.deed.Deadline.UTC().Format(time.RFC3339)
	if f.trouble != nil {
		text += ": " + f.trouble.Error()
	}
	return text
}

// step looks once, and asks if nobody has yet. What fails is tried again, unless it
// would fail for ever.
func (f *following) step(ctx context.Context) (o remediate.Outcome, done bool) {
	o, done, err := f.look(ctx)
	if err == nil || done {
		f.trouble = nil
		return o, done
	}
	// An error at the very end is the end's own doing.
	if !over(ctx) {
		f.trouble = err
	}
	return f.end(remediate.Unavailable, err.Error()), final(err)
}

// over says whether ctx has ended, or its deadline has passed and it does not know
// yet.
func over(ctx context.Context) bool {
	deadline, limited := ctx.Deadline()
	return ctx.Err() != nil || limited && !time.Now().Before(deadline)
}

func (f *following) look(ctx context.Context) (o remediate.Outcome, done bool, err error) {
	if f.deed.Kind == remediate.StepReboot {
		rebooted, err := f.node.rebooted(ctx, f.deed.BootID)
		if err != nil || rebooted {
			return f.end(remediate.Succeeded, "the Node tells another boot"), rebooted, err
		}
	}
	s, err := f.way.look(ctx, f.deed)
	switch {
	case err != nil:
		return o, false, err
	case !s.made && f.made:
		return f.end(remediate.Undecided, "somebody has taken the request away"), true, nil
	case !s.made:
		return o, false, f.ask(ctx)
	}
	f.made = true
	if s.result == remediate.Succeeded && f.deed.Kind == remediate.StepReboot {
		f.claimed = true
		return o, false, nil
	}
	return f.end(s.result, s.text), s.result != "", nil
}

func (f *following) ask(ctx context.Context) error {
	if err := f.way.ask(ctx, f.deed); err != nil {
		return err
	}
	f.made = true
	if err := f.owe(ctx, undoMade); err != nil {
		return fmt.Errorf("write down that it was asked for: %w", err)
	}
	return nil
}
