package agent

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gpuhealthd/gpuhealthd/remediate"
	"github.com/gpuhealthd/gpuhealthd/remediate/fleet"
	"github.com/gpuhealthd/gpuhealthd/remediate/guard"
)

// breaker is a group that holds all, or lets all pass.
type breaker struct {
	mu     sync.Mutex
	closed bool // it lets pass
	// slow is how long an answer is under way.
	slow    time.Duration
	asked   [][]guard.Ask
	settled []bool
}

func (b *breaker) Ask(_ context.Context, asks []guard.Ask, leave bool) (remediate.Reply, fleet.Survey) {
	b.mu.Lock()
	b.asked = append(b.asked, slices.Clone(asks))
	closed, slow := b.closed, b.slow
	b.mu.Unlock()
	time.Sleep(slow)
	if closed {
		return remediate.Reply{Granted: asks, Until: time.Now().Add(fleet.LeaveTime), Leave: !leave}, fleet.Survey{}
	}
	var answer remediate.Reply
	for _, a := range asks {
		answer.Held = append(answer.Held, remediate.Refusal{Ask: a, Holds: []guard.Hold{{Guard: guard.Budget, Why: "full", Until: "it is not"}}})
	}
	return answer, fleet.Survey{}
}

func (b *breaker) Settle(_ context.Context, seen bool) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.settled = append(b.settled, seen)
	return nil
}

// turn closes or opens it.
func (b *breaker) turn(closed bool, slow time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed, b.slow = closed, slow
}

// asks counts how often it was asked.
func (b *breaker) asks() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.asked)
}

// broken is a stage whose group lets nothing pass.
func broken(t *testing.T) (*stage, *breaker) {
	s, b := newStage(t), &breaker{}
	s.adjust = func(o *Options) {
		rules := guard.Default()
		o.Policy.Guards, o.Group = &rules, b
	}
	s.start()
	s.polls(1)
	return s, b
}

// hour is so many polls.
const hour = int(time.Hour / period)

// TestAnHourHeldThenOpened: what was wanted first is over when the group lets things
// pass again, and only what is wanted then is done.
func TestAnHourHeldThenOpened(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, b := broken(t)
		s.polls(hour/2, wants(2, 1))
		stale := s.Status().Incidents[0]
		if len(stale.Held) != 1 || stale.Held[0].Guard != guard.Budget || s.world.cordoned() {
			t.Fatalf("not held: %+v", stale)
		}
		if since := time.Since(stale.Held[0].Since); since < 29*time.Minute {
			t.Errorf("held for %s", since)
		}
		s.polls(hour/2, wants(3, 1))
		if got := incidents(s); len(got) != 1 || s.world.cordoned() {
			t.Fatalf("open: %q, cordoned %v", got, s.world.cordoned())
		}
		if n := b.asks(); n < int(time.Hour/lastAsk) || n > int(2*time.Hour/lastAsk)+20 {
			t.Errorf("asked %d times within an hour", n)
		}
		b.turn(true, 0)
		time.Sleep(lastAsk)
		synctest.Wait()
		node, _ := s.world.state()
		if !s.world.cordoned() || !slices.Equal(node.Note.GPUs, []string{uuid(3)}) || !node.Note.Leave {
			t.Errorf("contained %v: %+v", s.world.cordoned(), node.Note)
		}
		if got := s.world.told(); slices.Contains(got, stale.Verdict.ID+"/NodeQuarantined") || slices.Contains(got, stale.Verdict.ID+"/ResetRequested") {
			t.Errorf("what was over was acted on: %q", got)
		}
		if !slices.Contains(b.settled, true) {
			t.Error("the leave is seen, and the Lease is not given back")
		}
		s.stop()
	})
}

// TestAnHourHeldAndOverByItself: nothing is done when the group lets things pass, and
// nobody is asked any more.
func TestAnHourHeldAndOverByItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, b := broken(t)
		s.polls(hour, wants(2, 1))
		s.polls(10)
		asked := b.asks()
		b.turn(true, 0)
		s.polls(hour)
		if len(s.world.history) > 0 || s.Status().Node.State != remediate.Healthy {
			t.Errorf("%q, state %s", s.world.history, s.Status().Node.State)
		}
		if n := b.asks() - asked; n > 0 {
			t.Errorf("asked %d times for nothing", n)
		}
		s.stop()
	})
}

// TestALeaveThatComesTooLate: it was asked for while the fault was there, and what it
// was for is over.
func TestALeaveThatComesTooLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, b := broken(t)
		b.turn(true, 2*time.Minute)
		s.polls(3, wants(2, 1))
		s.polls(40)
		if len(s.world.history) > 0 || b.asks() == 0 {
			t.Errorf("asked %d times, %q", b.asks(), s.world.history)
		}
		// The Lease that came with it is given back, though nobody saw the leave.
		if len(b.settled) < 2 || slices.Contains(b.settled, true) {
			t.Errorf("settled %v", b.settled)
		}
		for _, key := range s.world.told() {
			if strings.HasSuffix(key, "/NodeQuarantined") {
				t.Error("contained for what is over")
			}
		}
		s.stop()
	})
}
