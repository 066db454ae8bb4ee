package agent

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/gpuhealthd/gpuhealthd/collector/nvml"
	"github.com/gpuhealthd/gpuhealthd/fault"
	"github.com/gpuhealthd/gpuhealthd/nvlink"
)

// linkedBy is a change: every GPU has four NVLinks to switches of a baseboard,
// and GPU 3 as made.
func linkedBy(made func(*nvlink.Reading)) func(*nvml.GPU) {
	return func(g *nvml.GPU) {
		r := &nvlink.Reading{Generation: 5}
		for l := range 4 {
			zero := uint64(0)
			r.Links = append(r.Links, nvlink.Link{Index: l, State: nvlink.Active, Remote: nvlink.RemoteSwitch, Counters: nvlink.Counters{Recoveries: &zero}})
		}
		f, _ := nvlink.MakeFabric(3, 3, 0, [16]byte{}, 0)
		r.Fabric = &f
		if g.Index == 3 {
			made(r)
		}
		g.NVLink = r
	}
}

// worn is a link that has counted some of everything.
func worn(l *nvlink.Link) {
	some, rate := uint64(7), 2e-15
	l.Recoveries, l.RecoveryFailed, l.EffectiveBER, l.Packets.Received = &some, &some, &rate, &some
	l.FEC = []uint64{1000, 5, 4, 3, 2, 1}
}

func down(r *nvlink.Reading) { r.Links[2].State = nvlink.Inactive }

func fine(*nvlink.Reading) {}

// TestNVLinkCondition: what the Node says of its NVLinks, from the first poll to
// a link that is down for good, and up again.
func TestNVLinkCondition(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		s.start()
		said := func(when, status, reason string) {
			t.Helper()
			if c := s.Status().Node.NVLink; c.Status != status || c.Reason != reason {
				t.Errorf("%s: %+v, want %s %s", when, c, status, reason)
			}
		}
		slowPolls := func(n int, made func(*nvlink.Reading)) {
			for range n {
				s.polls(1, linkedBy(made))
				s.polls(int(time.Minute/period) - 1)
			}
		}
		s.polls(1)
		said("not asked", "Unknown", "LinksNotPolled")
		slowPolls(1, down)
		said("at the first poll", "Unknown", "LinksSettling")
		if on := s.Status().Training; len(on) != 1 || on[0].GPU.UUID != uuid(3) || on[0].Class != fault.LinksDown || on[0].What != "link 2 down" {
			t.Errorf("at the first poll: %+v", on)
		}
		slowPolls(13, fine)
		said("up", "True", "LinksUp")
		slowPolls(2, down)
		said("down for two polls", "Unknown", "LinksSettling")
		if s.world.cordoned() {
			t.Error("cordoned for links that may be training")
		}
		slowPolls(2, down)
		said("down for good", "False", "LinksDown")
		if on := s.Status().Training; len(on) != 0 {
			t.Errorf("down for good, and on its way: %+v", on)
		}
		if !s.world.cordoned() {
			t.Error("not cordoned")
		}
		slowPolls(1, fine)
		said("up again, and watched", "Unknown", "LinksSettling")
		slowPolls(13, fine)
		said("up again", "True", "LinksUp")
		s.stop()
	})
}

// TestNoNVLink: GPUs without any are neither good nor bad at it.
func TestNoNVLink(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		s.start()
		s.polls(2, func(g *nvml.GPU) { g.NVLink = &nvlink.Reading{Links: []nvlink.Link{}} })
		if c := s.Status().Node.NVLink; c.Reason != "NoNVLink" || c.Status != "Unknown" {
			t.Errorf("%+v", c)
		}
		s.stop()
	})
}

// TestTopology: what a fast poll does not tell is as it was, and a GPU that is
// lost has no links.
func TestTopology(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		s.start()
		if n := s.Topology(); len(n.GPUs) != 0 {
			t.Errorf("%d GPUs before any poll", len(n.GPUs))
		}
		s.polls(1, linkedBy(fine))
		s.polls(1)
		if n := s.Topology(); len(n.GPUs) != gpus || n.Topology().String() != "as reported, 8 GPUs, NVLink 5, one baseboard" {
			t.Errorf("%d GPUs, %q", len(n.GPUs), n.Topology())
		}
		s.polls(1, func(g *nvml.GPU) { g.Lost = g.Index == 5 })
		if n := s.Topology(); len(n.GPUs) != gpus-1 {
			t.Errorf("%d GPUs with one lost", len(n.GPUs))
		}
		s.stop()
	})
}
