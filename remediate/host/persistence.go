package host

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/gpuhealthd/gpuhealthd/remediate/command"
)

// release turns persistence mode off where it is on: it keeps a GPU in use, by the
// driver itself or by nvidia-persistenced.
func (a *attempt) release(ctx context.Context) error {
	for _, gpu := range a.gpus {
		id := busID(gpu)
		on, err := a.Config.persistent(ctx, id)
		if err != nil {
			return err
		}
		if !on {
			continue
		}
		if err := a.owe(ctx, undoPersistence+id); err != nil {
			return err
		}
		if err := a.Config.setPersistence(ctx, id, "0"); err != nil {
			return err
		}
	}
	return nil
}

// persistent says whether persistence mode is on. Of a GPU that does not answer it
// is unknown, and then nothing is changed and nothing owed: it is reset as it is.
// An error is a tool that cannot be run, or not be ended.
func (c Config) persistent(ctx context.Context, id string) (bool, error) {
	r, err := c.smi(ctx, c.QueryLimit, "--query-gpu=persistence_mode", "--format=csv,noheader", "-i", id)
	if errors.Is(err, errNobody) || errors.Is(err, command.ErrStuck) || ctx.Err() != nil {
		return false, fmt.Errorf("persistence mode of %s: %w", id, err)
	}
	return err == nil && r.Exit == 0 && strings.TrimSpace(r.Output) == "Enabled", nil
}

func (c Config) setPersistence(ctx context.Context, id, mode string) error {
	r, err := c.smi(ctx, c.QueryLimit, "-pm", mode, "-i", id)
	if err == nil && r.Exit != 0 {
		err = errors.New(ended(r))
	}
	if err != nil {
		return fmt.Errorf("set persistence mode %s of %s: %w", mode, id, err)
	}
	return nil
}

// putBack does what the words say, the newest first, and gives those that it could
// not do. One that fails does not keep the rest from being done.
func (r *Reset) putBack(ctx context.Context, undo []string) (owed []string, err error) {
	for _, word := range slices.Backward(undo) {
		if failed := r.putBackOne(ctx, word); failed != nil {
			owed, err = append(owed, word), errors.Join(err, failed)
		}
	}
	slices.Reverse(owed)
	return owed, err
}

func (r *Reset) putBackOne(ctx context.Context, word string) error {
	if id, ok := strings.CutPrefix(word, undoPersistence); ok {
		return r.Config.restorePersistence(ctx, id)
	}
	switch {
	case word != undoOperands:
		return fmt.Errorf("put back %q: not a word of a reset", word)
	case r.Operands == nil:
		return errors.New("restore the operator's services: they are not configured any more")
	}
	if err := r.Operands.Restore(ctx); err != nil {
		return fmt.Errorf("restore the operator's services: %w", err)
	}
	return nil
}

// restorePersistence turns it on again. A GPU that the driver cannot reach has no
// mode to restore, and gets the machine's own with the next boot.
func (c Config) restorePersistence(ctx context.Context, id string) error {
	r, err := c.smi(ctx, c.QueryLimit, "-pm", "1", "-i", id)
	switch {
	case err == nil && (r.Exit == 0 || r.Exit == exitLost || r.Exit == exitNotFound):
		return nil
	case err == nil:
		err = errors.New(ended(r))
	}
	return fmt.Errorf("restore persistence mode of %s: %w", id, err)
}
