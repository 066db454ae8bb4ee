package agent

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// TestRelease is tried until it has worked, and then no more.
func TestRelease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, tries := newStage(t), 0
		s.adjust = func(o *Options) {
			o.Release = func(context.Context) error {
				if tries++; tries < 3 {
					return errors.New("the API server is away")
				}
				return nil
			}
		}
		s.start()
		time.Sleep(time.Minute)
		synctest.Wait()
		if tries != 3 {
			t.Errorf("it was tried %d times", tries)
		}
		s.stop()
	})
}
