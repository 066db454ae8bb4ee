package agent

import (
	"context"
	"time"
)

// release takes back what an agent before has said of pods that serve, where nobody looks
// at them any more: once, and again until it has worked.
func (a *Agent) release(ctx context.Context) {
	for pause, told := firstPause, false; ; pause = min(2*pause, lastPause) {
		try, cancel := context.WithTimeout(ctx, tryLimit)
		err := a.opts.Release(try)
		cancel()
		if err == nil {
			return
		}
		if !told && ctx.Err() == nil {
			a.log.Warn("pods that an agent before has taken out of rotation may still be out", "error", err)
			told = true
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		}
	}
}
