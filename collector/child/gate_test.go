package child

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// No life begins between Quiet and Resume, and the one under way is over when
// Quiet returns.
func TestGateKeepsTheChildAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		var gate Gate
		lives, alive := 0, false
		kept := make(chan error)
		go func() {
			kept <- Keep(ctx, &gate, func(life context.Context) error {
				lives++
				alive = true
				<-life.Done()
				time.Sleep(time.Second) // to end takes a moment
				alive = false
				return nil
			})
		}()
		synctest.Wait()
		if err := gate.Quiet(ctx); err != nil || alive {
			t.Fatalf("quiet: %v, alive: %v", err, alive)
		}
		time.Sleep(time.Hour)
		if lives != 1 {
			t.Fatalf("%d lives while quiet", lives)
		}
		if err := gate.Quiet(ctx); err != nil {
			t.Fatalf("quiet again: %v", err)
		}
		gate.Resume()
		synctest.Wait()
		if lives != 2 || !alive {
			t.Fatalf("%d lives, alive: %v, after it was over", lives, alive)
		}
		cancel()
		if err := <-kept; err != nil {
			t.Fatal(err)
		}
	})
}

// A child that stays inside the driver is told to whoever wants the GPUs, in
// time, and Keep goes on for when it has ended.
func TestGateSaysThatTheChildIsStillThere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		var gate Gate
		stuck := errors.New("process 7 does not end")
		lives := 0
		kept := make(chan error)
		go func() {
			kept <- Keep(ctx, &gate, func(life context.Context) error {
				lives++
				<-life.Done()
				time.Sleep(10 * time.Second)
				return stuck
			})
		}()
		synctest.Wait()
		soon, enough := context.WithTimeout(ctx, time.Second)
		defer enough()
		if err := gate.Quiet(soon); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("before it had ended: %v", err)
		}
		if err := gate.Quiet(ctx); !errors.Is(err, stuck) {
			t.Errorf("left behind: %v", err)
		}
		gate.Resume()
		synctest.Wait()
		if lives != 2 {
			t.Errorf("%d lives", lives)
		}
		cancel()
		if err := <-kept; !errors.Is(err, stuck) {
			t.Errorf("at the end: %v", err)
		}
	})
}
