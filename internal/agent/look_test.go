package agent

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gpuhealthd/gpuhealthd/fault"
	"github.com/gpuhealthd/gpuhealthd/remediate"
)

// nobody holds the GPUs.
type nobody struct{}

func (nobody) Occupancy(context.Context) remediate.Occupancy {
	return remediate.Occupancy{At: time.Now()}
}

// Who holds the GPUs is looked at again and again while the plan asks, and at once
// where it asks for a later look than the last.
func TestLooker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		c := &core{inbox: make(chan message)}
		l := newLooker(Options{Occupant: nobody{}}, c)
		ctx, stop := context.WithCancel(t.Context())
		go l.run(ctx)
		seen := func(want time.Duration) {
			t.Helper()
			if got := (<-c.inbox).(occupied).occupancy.At.Sub(began); got != want {
				t.Errorf("looked after %s, want %s", got, want)
			}
		}
		gpus := []fault.Device{{UUID: "GPU-1"}}
		l.want(gpus, began)
		seen(0)
		l.want(gpus, began)
		seen(lookEvery)
		time.Sleep(time.Second)
		l.want(gpus, time.Now())
		seen(lookEvery + time.Second)
		l.want(nil, time.Now())
		synctest.Wait()
		select {
		case m := <-c.inbox:
			t.Errorf("nobody asks any more: %+v", m)
		case <-time.After(time.Hour):
		}
		stop()
		synctest.Wait()
	})
}
