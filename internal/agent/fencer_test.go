package agent

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gpuhealthd/gpuhealthd/collector/nvml"
	"github.com/gpuhealthd/gpuhealthd/remediate"
)

// fenceMaker makes every fence, as long as it does not fail.
type fenceMaker struct {
	mu     sync.Mutex
	err    error
	why    string
	gone   bool
	wanted [][]remediate.Fence
}

func (m *fenceMaker) Fence(_ context.Context, want []remediate.Fence) (all []remediate.Fenced, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.wanted = append(m.wanted, want)
	for _, f := range want {
		one := remediate.Fenced{Fence: f, Why: m.why, Gone: (m.gone || f.Ends) && m.why == "" && len(f.Rules) > 0}
		if m.why == "" {
			one.Rules = []string{"rule-" + f.Key()}
		}
		all = append(all, one)
	}
	if m.err != nil {
		return nil, m.err
	}
	return all, nil
}

// set changes how it fares, and gives what it was asked for until then.
func (m *fenceMaker) set(err error, why string, gone bool) (asked [][]remediate.Fence) {
	m.mu.Lock()
	defer m.mu.Unlock()
	asked, m.wanted = m.wanted, nil
	m.err, m.why, m.gone = err, why, gone
	return asked
}

// allocated is a stage on a node whose GPUs no device plugin gives out.
func allocated(t *testing.T) (*stage, *fenceMaker) {
	s, m := newStage(t), &fenceMaker{}
	s.world.node.Offered = remediate.Offered{}
	s.adjust = func(o *Options) { o.Policy.Fence, o.Fencer, o.FenceDelay = true, m, time.Minute }
	s.start()
	s.polls(1)
	return s, m
}

// TestAHealthyNodeLooksOnceForFences that an agent before it may have left behind.
func TestAHealthyNodeLooksOnceForFences(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, m := allocated(t)
		s.polls(hour)
		if asked := m.set(nil, "", false); len(asked) != 1 || len(asked[0]) > 0 {
			t.Errorf("asked for %v", asked)
		}
		s.stop()
	})
}

// TestTheCordonGoesOnceTheFenceStands: not before, however long the API server fails;
// and one that is taken away later is seen within a minute.
func TestTheCordonGoesOnceTheFenceStands(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, m := allocated(t)
		m.set(errAway, "", false)
		s.hear(xid(2, uncontained), xid(2, resetAsked))
		s.polls(12, wants(2, 1))
		if asked := m.set(nil, "", false); !s.world.cordoned() || len(asked) < 6 || len(asked) > 20 {
			t.Fatalf("cordoned %v, asked %d times within a minute", s.world.cordoned(), len(asked))
		}
		s.polls(4, wants(2, 1))
		node, desired := s.world.state()
		if node.Unschedulable || node.Tainted || node.Note.Fence != remediate.FenceDevice || desired.State != remediate.Suspect {
			t.Fatalf("the fence stands: %+v, state %s", node, desired.State)
		}
		s.stop()
		s.start() // the next agent neither closes nor opens anything
		s.polls(2, wants(2, 1))
		if got := len(s.world.history); got != 2 {
			t.Errorf("%q", s.world.history)
		}
		m.set(nil, "", true)
		s.polls(13, wants(2, 1))
		if i := s.Status().Incidents[0]; !i.Released || len(s.world.history) != 2 {
			t.Errorf("taken away: %+v, %q", i, s.world.history)
		}
		s.stop()
	})
}

// TestWhatCannotBeFencedIsTriedSeldom: every ten minutes, and the cordon stays.
func TestWhatCannotBeFencedIsTriedSeldom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, m := allocated(t)
		m.set(nil, "not listed", false)
		s.hear(xid(2, uncontained), xid(2, resetAsked))
		s.polls(hour, wants(2, 1))
		if asked := m.set(nil, "", false); len(asked) < 5 || len(asked) > 8 || !s.world.cordoned() || !s.world.said("DeviceNotFenced") {
			t.Errorf("asked %d times within an hour, cordoned %v, told %q", len(asked), s.world.cordoned(), s.world.told())
		}
		s.stop()
	})
}

// TestAnInstanceIsFencedByItsDevices: a contained error keeps to one MIG instance, and
// the driver tells which devices that is.
func TestAnInstanceIsFencedByItsDevices(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, m := allocated(t)
		layout := func(g *nvml.GPU) {
			g.Instances = []nvml.Instance{{UUID: "MIG-7", GI: 7}, {UUID: "MIG-8a", GI: 8}, {UUID: "MIG-8b", GI: 8, CI: 1}}
		}
		s.polls(2, layout)
		s.hear("NVRM: Xid (PCI:" + address(2) + " GPU-I:08): 94, pid=4712, name=VLLM::Worker, Contained: SM (0x1). RST: No, D-RST: Yes")
		s.polls(2, layout)
		asked := m.set(nil, "", false)
		last := asked[len(asked)-1]
		if len(last) != 1 || last[0].GPU != uuid(2) || !slices.Equal(last[0].MIG, []string{"MIG-8a", "MIG-8b"}) {
			t.Errorf("fenced %+v", last)
		}
		s.stop()
	})
}
