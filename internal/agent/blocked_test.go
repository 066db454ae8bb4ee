package agent

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gpuhealthd/gpuhealthd/remediate"
)

func incidents(s *stage) (classes []string) {
	for _, i := range s.Status().Incidents {
		classes = append(classes, string(i.Verdict.Class))
	}
	return classes
}

// Neither a Node write nor an event that never comes back keeps the kernel log
// from being judged, nor holds up the other.
func TestNothingBlocksTheCore(t *testing.T) {
	for name, block := range map[string]func(*world){
		"apply": func(w *world) {
			w.onApply = func(ctx context.Context, _ remediate.Desired) error { return blocks(ctx) }
		},
		"emit": func(w *world) { w.onEmit = func(ctx context.Context, _ remediate.Event) error { return blocks(ctx) } },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newStage(t)
				block(s.world)
				s.start()
				s.polls(1)
				s.hear(xid(2, uncontained), xid(2, resetAsked))
				s.hear(xid(5, "79, pid=1, GPU has fallen off the bus."))
				if got := incidents(s); !slices.Contains(got, "xid-95") || !slices.Contains(got, "xid-79") {
					t.Errorf("judged %q", got)
				}
				if err := s.Alive(); err != nil {
					t.Error(err)
				}
				if name == "emit" && !s.world.cordoned() {
					t.Error("an event holds up the cordon")
				}
				if name == "apply" && !slices.Contains(s.world.told(), "11111111-0/FaultDetected") {
					t.Errorf("a Node write holds up the events: told %q", s.world.told())
				}
				s.stop()
			})
		})
	}
}

// While the API server is away the tries grow rarer, and when it is back only
// the newest wish is carried out.
func TestRetriesAndTheNewestWish(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		var tries []time.Time
		away := true
		s.world.onApply = func(context.Context, remediate.Desired) error {
			tries = append(tries, time.Now())
			if away {
				return errAway
			}
			return nil
		}
		s.start()
		s.polls(1)
		s.hear(xid(2, uncontained), xid(2, resetAsked))
		before := len(tries)
		time.Sleep(5 * time.Minute)
		synctest.Wait()
		if n := len(tries) - before; n < 10 || n > 30 {
			t.Errorf("%d tries in 5 minutes, want 10 to 30", n)
		}
		for i := len(tries) - 5; i < len(tries); i++ {
			if pause := tries[i].Sub(tries[i-1]); pause < lastPause/2 || pause > lastPause {
				t.Errorf("a pause of %v late in an outage", pause)
			}
		}
		if trouble := s.Status().API; trouble == nil || trouble.Error != errAway.Error() {
			t.Errorf("the status says of the API: %v", trouble)
		}
		s.hear(xid(5, "79, pid=1, GPU has fallen off the bus."))
		away = false
		time.Sleep(lastPause)
		synctest.Wait()
		if len(s.world.applied) == 0 || s.world.applied[0].Fault != "xid-79" {
			t.Errorf("carried out first: %+v", s.world.applied)
		}
		if s.Status().API != nil || !s.world.cordoned() {
			t.Errorf("after the outage: API %v, cordoned %v", s.Status().API, s.world.cordoned())
		}
		s.stop()
	})
}

// An event whose key was told before, and struck off, is told again when it
// happens again.
func TestAnEventThatComesBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		var told []string
		s.world.onEmit = func(_ context.Context, e remediate.Event) error { told = append(told, e.Key); return nil }
		s.start()
		s.polls(1)
		failing := breakStore(s)
		for range 2 {
			failing.broken.Store(true)
			s.hear(xid(1, "13, pid=7, name=a, Graphics Exception"))
			failing.broken.Store(false)
			time.Sleep(restEvery + tickEvery)
			synctest.Wait()
			s.hear(xid(2, "31, pid=7, name=a, MMU Fault"))
			s.log.say(xid(1, "45, pid=7, name=a, Ch 00000010"))
			time.Sleep(2 * time.Hour) // the program's own faults are over
			synctest.Wait()
		}
		broken := slices.DeleteFunc(told, func(k string) bool { return !strings.HasPrefix(k, "store/broken") })
		if len(broken) != 2 || s.Status().Waiting != 0 {
			t.Errorf("told %d times that the store broke, want 2; %d events wait", len(broken), s.Status().Waiting)
		}
		s.stop()
	})
}

// A refused event does not hold up the others.
func TestARefusedEventHoldsUpNone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		s.world.onEmit = func(_ context.Context, e remediate.Event) error {
			if e.Reason == "FaultDetected" {
				return errAway
			}
			return nil
		}
		s.start()
		s.polls(1)
		s.hear(xid(2, uncontained), xid(2, resetAsked))
		if got := s.world.told(); !slices.Contains(got, "11111111-0/ResetRequested") {
			t.Errorf("told %q", got)
		}
		if s.Status().Waiting != 1 {
			t.Errorf("%d events wait, want the refused one", s.Status().Waiting)
		}
		s.stop()
	})
}
