package agent

import (
	"context"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gpuhealthd/gpuhealthd/collector/nvml"
	"github.com/gpuhealthd/gpuhealthd/fault"
	"github.com/gpuhealthd/gpuhealthd/nvlink"
	"github.com/gpuhealthd/gpuhealthd/remediate"
)

// rackmates is a Domain: the neighbours say what the test has them say.
type rackmates struct {
	mu sync.Mutex
	// heard is set while somebody listens to the domain of that name.
	heard  func([]remediate.Neighbour)
	domain string
	// begun counts how often somebody has begun to.
	begun int
}

func (r *rackmates) Hear(ctx context.Context, domain string, heard func([]remediate.Neighbour)) {
	r.mu.Lock()
	r.heard, r.domain = heard, domain
	r.begun++
	r.mu.Unlock()
	<-ctx.Done()
	r.mu.Lock()
	r.heard = nil
	r.mu.Unlock()
}

// say has the neighbours say something; false where nobody listens.
func (r *rackmates) say(all ...remediate.Neighbour) bool {
	r.mu.Lock()
	heard := r.heard
	r.mu.Unlock()
	if heard != nil {
		heard(all)
	}
	return heard != nil
}

// tray is a change: every GPU is in a rack.
func tray(g *nvml.GPU) {
	f, _ := nvlink.MakeFabric(3, 3, 0, [16]byte{1}, 7)
	r := &nvlink.Reading{Generation: 5, Fabric: &f, Platform: &nvlink.Platform{Chassis: "1", Switched: true}}
	for l := range 18 {
		r.Links = append(r.Links, nvlink.Link{Index: l, State: nvlink.Active, Remote: nvlink.RemoteSwitch})
	}
	g.NVLink = r
}

const (
	linkWentDown = "149, NETIR_LINK_EVT Fatal XC0 i0 Link 09 (0x004525c6 0x00000000 0x00000000 0x00000000 0x00000000 0x00000000)"
	farEndFailed = "145, RLW_SRC_TRACK Nonfatal XC1 i0 Link 12 (0x040988e2 0x00000008 0x00000000 0x00000000 0x00000000 0x00000000)"
)

// onTray starts an agent on a tray of a rack that has been polled.
func onTray(t *testing.T) (*stage, *rackmates) {
	s, mates := newStage(t), &rackmates{}
	s.make()
	s.core.judge, _ = fault.Restore(fault.Config{CleanPolls: 3, Fresh: 2 * period, Correlate: fault.DefaultCorrelate}, []byte("{}"))
	s.listen.source = mates
	s.run()
	s.polls(2, tray)
	return s, mates
}

// TestNeighboursAreHeardWhileAFaultIsOpen: the agent publishes the domain's label
// always, its summary and its wish to listen while a fault of links is open.
func TestNeighboursAreHeardWhileAFaultIsOpen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, mates := onTray(t)
		want := nvlink.DomainHash("01000000-0000-0000-0000-000000000000.7")
		if _, d := s.world.state(); d.Domain != want || d.Summary != "" || mates.say() {
			t.Errorf("healthy: domain %q, want %q; says %q; listens", d.Domain, want, d.Summary)
		}
		s.log.say(xid(2, linkWentDown))
		synctest.Wait()
		if _, d := s.world.state(); d.Summary != `{"roots":["`+uuid(2)+`"]}` || d.Quarantine || d.State != remediate.Suspect {
			t.Errorf("in the window: says %q, quarantine %v, state %s", d.Summary, d.Quarantine, d.State)
		}
		if !mates.say(remediate.Neighbour{Node: "node-2", Summary: `{"echoes":4}`}) || mates.domain != want {
			t.Errorf("listens to %q", mates.domain)
		}
		time.Sleep(fault.DefaultCorrelate - time.Millisecond)
		synctest.Wait()
		if s.world.cordoned() {
			t.Error("cordoned within the window")
		}
		time.Sleep(2 * time.Millisecond)
		synctest.Wait()
		if !s.world.cordoned() {
			t.Error("not cordoned when the window is over")
		}
		s.log.say(xid(2, "154, GPU recovery action changed from 0x0 (None) to 0x4 (Drain and Reset)"))
		s.polls(4, tray)
		s.log.say(xid(2, "154, GPU recovery action changed from 0x4 (Drain and Reset) to 0x0 (None)"))
		s.polls(30, tray, func(g *nvml.GPU) { none := 0; g.Recovery = &none })
		if _, d := s.world.state(); d.Summary != "" || mates.say() {
			t.Errorf("over: says %q, or listens still", d.Summary)
		}
		s.stop()
	})
}

// TestANeighbourThatIsNotHeard: nonsense is told once, and judged without.
func TestANeighbourThatIsNotHeard(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, mates := onTray(t)
		s.log.say(xid(1, farEndFailed))
		synctest.Wait()
		mates.say(remediate.Neighbour{Node: "liar", Summary: `{"echoes":-1}`}, remediate.Neighbour{Node: "node-3", Summary: `{"roots":["GPU-9"]}`})
		synctest.Wait()
		if i := s.Status().Incidents; len(i) != 1 || !strings.Contains(i[0].Verdict.Reason, "the root is on node-3") {
			t.Errorf("%+v", i)
		}
		if len(s.core.odd) != 1 || !strings.Contains(s.core.odd["liar"], "echoes: -1") {
			t.Errorf("not heard: %q", s.core.odd)
		}
		// What only echoed is told and listened for ten minutes.
		s.polls(int(11*time.Minute/period), tray)
		if _, d := s.world.state(); d.Summary != "" || mates.say() || mates.begun != 1 {
			t.Errorf("says %q, or listens still; began %d times", d.Summary, mates.begun)
		}
		s.stop()
	})
}
