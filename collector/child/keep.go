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

// Keep lives one child's life after another, with a pause between, until ctx is
// done or a life ends with an error, which it returns.
func Keep(ctx context.Context, live func() error) error {
	pause := MinBackoff
	for ctx.Err() == nil {
		began := time.Now()
		if err := live(); err != nil {
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
