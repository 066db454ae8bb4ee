package agent

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
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
		var away atomic.Bool
		away.Store(true)
		s.world.onApply = func(context.Context, remediate.Desired) error {
			if away.Load() {
				return errAway
			}
			return nil
		}
		s.start()
		s.polls(1)
		s.hear(xid(2, uncontained), xid(2, resetAsked))
		before := len(s.world.tries())
		time.Sleep(5 * time.Minute)
		synctest.Wait()
		tries := s.world.tries()
		if n := len(tries) - before; n < 30 || n > 80 {
			t.Errorf("%d tries in 5 minutes, want 30 to 80", n)
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
		away.Store(false)
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

// A second fault of a GPU that is out of service changes nothing on the Node. It
// sees all the same that the node is contained, so that an administrator's
// uncordon ends its claim too.
func TestASecondFaultSeesTheCordon(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		s.start()
		s.polls(1)
		s.hear(xid(2, "119, pid=1234, name=python3, Timeout after 6s of waiting for RPC response from GPU2 GSP! Expected function 76 (GSP_RM_CONTROL) (0x2080 0x4)."))
		s.hear(xid(2, uncontained))
		open := s.Status().Incidents
		if len(open) != 2 {
			t.Fatalf("incidents %+v", open)
		}
		for _, i := range open {
			if !i.Contained || !slices.Contains(s.world.told(), i.Verdict.ID+"/NodeQuarantined") {
				t.Errorf("%s: contained %t, told %q", i.Verdict.Class, i.Contained, s.world.told())
			}
		}
		s.stop()
	})
}

// An event that was told and struck off is told again when it happens again,
// and one that is not struck off yet is not.
func TestAnEventThatComesBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		var told atomic.Int64
		s.world.onEmit = func(context.Context, remediate.Event) error { told.Add(1); return nil }
		s.start()
		teller := newTeller(s.opts, s.core) // apart from the agent's own, which has its own outbox
		ctx, cancel := context.WithCancel(t.Context())
		go teller.run(ctx)
		e := remediate.Event{Key: "store/broken", At: time.Now()}
		s.world.onEmit = func(context.Context, remediate.Event) error { return errors.New("no events today") }
		teller.have([]remediate.Event{e})
		time.Sleep(time.Second)
		synctest.Wait()
		if u := s.Status().Untold; u == nil || u.Error != "no events today" {
			t.Errorf("while none is taken the status says %+v", u)
		}
		s.world.onEmit = func(context.Context, remediate.Event) error { told.Add(1); return nil }
		time.Sleep(time.Minute)
		synctest.Wait()
		if u := s.Status().Untold; u != nil || told.Load() != 1 {
			t.Errorf("once they are taken it says %+v, of %d", u, told.Load())
		}
		teller.have(nil)
		e.At = time.Now()
		told.Store(0)
		have := func(events ...remediate.Event) {
			teller.have(events)
			time.Sleep(time.Second)
			synctest.Wait()
		}
		have(e)
		have(e, remediate.Event{Key: "another", At: time.Now()})
		if told.Load() != 2 {
			t.Errorf("told %d times, want each event once", told.Load())
		}
		have()
		e.At = time.Now()
		have(e)
		if told.Load() != 3 {
			t.Errorf("told %d times, want it once more", told.Load())
		}
		cancel()
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
