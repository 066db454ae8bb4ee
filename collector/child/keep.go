package child

import (
	"context"
	"time"
)

// The pause before a child is started again doubles from the first to the
// last; a child that lived that long starts it anew.
const (
	MinBackoff = time.Second
	MaxBackoff = time.Minute
)

// A child gets so long to end when the daemon itself stops, first after the end of its
// input and then after SIGTERM. Nobody waits for the GPUs then, as a reset does, and
// somebody waits for the daemon: what does not end in time is left, and the next daemon
// finds it by its lock.
const (
	StopPatience = time.Second
	TermPatience = 300 * time.Millisecond
)

// Keep lives one child's life after another, with a pause between, until ctx is
// done or a life ends with an error, which it returns. The context of a life ends
// as well when the gate is shut; that such a life left its child behind is for
// whoever shut it.
func Keep(ctx context.Context, gate *Gate, live func(context.Context) error) error {
	pause := MinBackoff
	for ctx.Err() == nil {
		life, err := gate.enter(ctx)
		if err != nil {
			return nil
		}
		began := time.Now()
		err = live(life)
		gate.leave(err)
		if gate.isShut() && ctx.Err() == nil {
			pause = MinBackoff
			continue
		}
		if err != nil {
			return err
		}
		if time.Since(began) >= MaxBackoff {
			pause = MinBackoff
		}
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
		pause = min(2*pause, MaxBackoff)
	}
	return nil
}
