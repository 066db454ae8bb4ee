package agent

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gpuhealthd/gpuhealthd/fault"
	"github.com/gpuhealthd/gpuhealthd/serving"
)

// company are the workers of a node, as they are told to the agent, and what is written
// onto their pods.
type company struct {
	told    chan serving.Company
	before  []serving.Group
	refuses bool
	written []string
}

func (c *company) Follow(ctx context.Context, before []serving.Group, out func(serving.Company)) error {
	c.before = before
	for {
		select {
		case <-ctx.Done():
			return nil
		case told := <-c.told:
			out(told)
		}
	}
}

func (c *company) MarkStale(_ context.Context, w fault.Workload, text string) error {
	if c.refuses {
		return errors.New("forbidden")
	}
	c.written = append(c.written, w.Name+"="+text)
	return nil
}

// tell tells the agent of one group: the life of its prefill worker, and of the decode
// worker of this node, with what its pod says.
func (c *company) tell(prefill, decode, says string) {
	d := serving.Worker{Name: "ns/d", UID: "uid-d", Role: serving.Decode, Life: decode, GPUs: []string{uuid(2)}, OnFailure: "recompute", Marked: says}
	own := serving.Worker{Name: "ns/q", UID: "uid-q", Role: serving.Prefill, Life: "1", GPUs: []string{uuid(3), uuid(4)}, Lease: 30 * time.Second}
	p := serving.Worker{Name: "ns/p", UID: "uid-p", Role: serving.Prefill, Life: prefill}
	c.told <- serving.Company{Groups: []serving.Group{{Name: "ns/g", Here: []serving.Worker{d, own}, Peers: map[serving.Role][]serving.Worker{serving.Prefill: {p, own}, serving.Decode: {d}}}}}
	synctest.Wait()
}

func TestAStalePeer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, c := newStage(t), &company{told: make(chan serving.Company), refuses: true}
		s.adjust = func(o *Options) { o.Peers, o.Marker = c, c }
		s.start()
		s.polls(1)
		c.tell("1", "1", "")
		c.tell("2", "1", "")
		since := time.Now().UTC().Format(time.RFC3339)
		w := s.Status().Workers
		if len(w) != 2 || w[0].Stale == nil || w[0].Stale.Lost != "ns/p" || *w[0].Peers != 2 || *w[1].Peers != 1 || w[0].OnFailure != "recompute" {
			t.Errorf("workers %+v", w)
		}
		c.refuses = false
		time.Sleep(lastPause)
		synctest.Wait()
		if e := s.world.events; len(e) == 0 || !strings.Contains(e[0].Message, "ns/d was left by ns/p, which was started anew") {
			t.Errorf("events %+v", e)
		}
		marked := since + " ns/p"
		if got, want := fmt.Sprint(c.written), "[ns/d="+marked+"]"; got != want {
			t.Errorf("written %s, want %s", got, want)
		}
		c.tell("2", "1", marked)
		s.polls(2)
		// Its restart takes that away, and strands what the prefill worker keeps for it.
		c.tell("2", "2", marked)
		c.tell("2", "2", "")
		s.polls(1)
		if got, want := fmt.Sprint(c.written), "[ns/d="+marked+" ns/d=]"; got != want {
			t.Errorf("written %s, want %s", got, want)
		}
		w = s.Status().Workers
		if w[0].Stale != nil || w[1].Stranded == nil || w[1].Stranded.Share != 1 || s.Status().Node.Stranded != "2.00" {
			t.Errorf("workers %+v, and the Node says %q", w, s.Status().Node.Stranded)
		}
		metrics := describe(t, s.metrics)
		for _, name := range []string{"peers", "stale_peer", "stranded_seconds", "stranded_ratio"} {
			if !strings.Contains(metrics, "gpuhealthd_serving_"+name) {
				t.Errorf("there is no metric of %s", name)
			}
		}
		s.polls(6)
		if s.Status().Workers[1].Stranded != nil || s.Status().Node.Stranded != "" {
			t.Errorf("the lease is over, and it is still %+v", s.Status().Workers[1])
		}
		s.stop()
	})
}

// TestAStalePeerIsDegraded for routers, for as long as it is stale, whether it is on trial
// or nobody knows an endpoint of it.
func TestAStalePeerIsDegraded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, c := newStage(t), &company{told: make(chan serving.Company)}
		h := s.hosts()
		both := s.adjust
		s.adjust = func(o *Options) {
			both(o)
			o.Peers, o.Marker = c, c
		}
		h.entrants = nil
		s.start()
		s.polls(1)
		stands := func(want serving.Standing, why string) {
			t.Helper()
			h.look()
			if got := h.stand(); got.Standing != want || got.Replica.Name != "ns/d" || got.Why != why {
				t.Errorf("it stands %+v, want %v, %q", got, want, why)
			}
		}
		c.tell("1", "1", "")
		c.tell("2", "1", "")
		stands(serving.Degraded, "it may serve from ns/p, which is gone")
		h.entrants = []serving.Entrant{{Replica: serving.Replica{Name: "ns/d", UID: "uid-d", Life: "1"}, Proved: true}}
		stands(serving.Degraded, "it may serve from ns/p, which is gone")
		c.tell("2", "2", "")
		stands(serving.InService, "")
		s.stop()
	})
}

// TestAMarkIsTakenAway where nobody follows the groups any more.
func TestAMarkIsTakenAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, c := newStage(t), &company{told: make(chan serving.Company)}
		s.adjust = func(o *Options) { o.Peers, o.Marker = c, c }
		s.start()
		s.polls(1)
		c.tell("1", "1", "")
		c.tell("2", "1", "")
		c.told <- serving.Company{Off: true, Strays: []serving.Worker{{Name: "ns/d", UID: "uid-d", Marked: "since ever"}}}
		synctest.Wait()
		if got := c.written[len(c.written)-1]; got != "ns/d=" {
			t.Errorf("written %q", c.written)
		}
		if s.Status().Workers != nil || len(s.Status().Incidents) > 0 {
			t.Errorf("open are %+v of %+v", s.Status().Incidents, s.Status().Workers)
		}
		s.stop()
	})
}

// TestPeersAreRememberedOverARestart, so that one that is not listed any more is looked for.
func TestPeersAreRememberedOverARestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, c := newStage(t), &company{told: make(chan serving.Company)}
		s.adjust = func(o *Options) { o.Peers, o.Marker = c, c }
		s.start()
		s.polls(1)
		c.tell("1", "1", "")
		s.stop()
		s.start()
		synctest.Wait()
		if len(c.before) != 1 || len(c.before[0].Peers[serving.Prefill]) != 2 || c.before[0].Name != "ns/g" {
			t.Errorf("before were %+v", c.before)
		}
		s.stop()
	})
}
