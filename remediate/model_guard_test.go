package remediate

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/gpuhealthd/gpuhealthd/fault"
	"github.com/gpuhealthd/gpuhealthd/remediate/guard"
	"github.com/gpuhealthd/gpuhealthd/xidparse"
)

// herd is a group of nodes, each with a plan of its own, on a model of the API: what
// one does the others know by its Node alone.
type herd struct {
	t     *testing.T
	rng   *rand.Rand
	rules guard.Rules
	now   time.Time
	sheep []*sheep
	// holder has the mutex until then.
	holder *sheep
	until  time.Time
	// rough: the API is slow, loses answers, and agents die.
	rough bool
}

// sheep is one node of a herd.
type sheep struct {
	name   string
	plan   *Plan
	policy Policy
	node   model
	live   []fault.Verdict
	opened int
	deeds  []StepKind
	done   string
	boot   string
}

func newHerd(t *testing.T, n int, policy Policy, seed uint64) *herd {
	h := &herd{t: t, rng: rand.New(rand.NewPCG(seed, 11)), rules: *policy.Guards, now: time.Unix(1_800_000_000, 0)}
	for k := range n {
		s := &sheep{name: fmt.Sprintf("node-%d", k), policy: policy, plan: NewPlan(policy), boot: "boot"}
		s.node.Observed = Observed{Exists: true, UID: s.name}
		s.plan.Boot(h.now, s.boot)
		s.plan.Sources(h.now, Sources{Polled: true})
		h.sheep = append(h.sheep, s)
	}
	return h
}

// open has a fault come.
func (h *herd) open(s *sheep, class fault.Class, action fault.Action, hard bool) {
	s.opened++
	v := fault.Verdict{ID: fmt.Sprintf("%s-%d", s.name, s.opened), Class: class, Hardware: true, Opened: h.now, Hard: hard,
		Action: action, Drain: fault.DrainNow, GPUs: []fault.Device{{PCI: xidparse.PCI{Bus: 1}}}}
	s.live = append(s.live, v)
	s.plan.Verdict(h.now, v)
}

// close has the oldest fault go.
func (h *herd) close(s *sheep) {
	if len(s.live) == 0 {
		return
	}
	v := s.live[0]
	s.live = s.live[1:]
	v.Closed, v.Action = true, fault.None
	s.plan.Verdict(h.now, v)
}

// step lets some time pass and everybody act.
func (h *herd) step(d time.Duration) {
	h.now = h.now.Add(d)
	for _, k := range h.rng.Perm(len(h.sheep)) {
		s := h.sheep[k]
		s.plan.Tick(h.now)
		h.sync(s)
		h.ask(s)
		h.sync(s)
		h.do(s)
	}
	h.check()
}

// sync brings a Node to what its plan wants, unless the API is away.
func (h *herd) sync(s *sheep) {
	s.plan.Written()
	if h.rough && h.rng.IntN(4) == 0 {
		return
	}
	seen := s.node.apply(s.plan.Desired())
	if h.rough && h.rng.IntN(8) == 0 {
		return // the answer is lost
	}
	s.plan.Node(h.now, seen)
}

// ask is what an agent's guardian does: it gives the mutex back once its leave is
// seen, or asks by the rules, with the mutex.
func (h *herd) ask(s *sheep) {
	if l := s.plan.Leave(); l != nil && !l.Seen {
		return
	} else if l != nil && h.holder == s {
		h.holder = nil
	}
	asks := s.plan.Asks()
	if len(asks) == 0 || h.holder != nil && h.holder != s && h.now.Before(h.until) || h.rough && h.rng.IntN(3) == 0 {
		return
	}
	answer := Reply{Until: h.now.Add(20 * time.Second)}
	facts := h.facts(s)
	facts.Leave = facts.Leave && s.plan.Leave() != nil
	answer.Leave = !facts.Leave
	for _, a := range asks {
		if a.Action == guard.Release {
			answer.Granted = append(answer.Granted, a)
		} else if holds := h.rules.Decide(facts, a); len(holds) == 0 {
			answer.Granted = append(answer.Granted, a)
			if answer.Leave {
				h.holder, h.until = s, h.now.Add(time.Minute)
			}
		} else {
			answer.Held = append(answer.Held, Refusal{a, holds})
		}
	}
	s.plan.Replied(h.now, answer)
}

func (h *herd) facts(s *sheep) guard.Facts {
	f := guard.Facts{At: h.now, Group: "cluster", Nodes: len(h.sheep), Leave: s.marked()}
	for _, o := range h.sheep {
		if o != s {
			f.Peers = append(f.Peers, guard.Peer{Node: o.name, Fault: fault.Class(o.node.desired.Fault), Out: o.out(), Leave: o.marked(), Since: o.since()})
		}
	}
	return f
}

func (s *sheep) marked() bool { return s.node.Note != nil && s.node.Note.Leave }

// since is when the fault that the Node tells of came.
func (s *sheep) since() time.Time {
	at, _ := time.Parse(time.RFC3339, s.node.desired.Since)
	return at
}

func (s *sheep) out() bool { return severity(s.node.desired.State) >= severity(Probation) }

// do does the deed of the moment; drains and resets work at once.
func (h *herd) do(s *sheep) {
	d := s.plan.Deed()
	if d == nil || d.ID == s.done {
		return
	}
	if !s.marked() {
		h.t.Fatalf("%s: %s is begun, and the Node does not tell of any leave", s.name, d.ID)
	}
	s.done, s.deeds = d.ID, append(s.deeds, d.Kind)
	s.plan.Done(h.now, Outcome{Deed: d.ID, Result: Succeeded})
	if d.Kind == StepReboot {
		s.boot = d.ID
		s.plan.Boot(h.now, s.boot)
	}
	s.plan.Occupied(h.now.Add(time.Millisecond), Occupancy{At: h.now.Add(time.Millisecond)})
}

// check holds the budget: no more nodes are out, or repaired, by leave.
func (h *herd) check() {
	marked := 0
	for _, s := range h.sheep {
		if s.marked() {
			marked++
		}
		for _, i := range s.plan.Incidents() {
			if i.holds() && !i.Verdict.Hard && s.plan.Leave() == nil {
				h.t.Fatalf("%s is to be out for a soft fault, and without leave: %+v %v %v", s.name, i, h.now, s.node.Note)
			}
		}
	}
	if may := h.rules.Budget.Of(len(h.sheep)); marked > may {
		h.t.Fatalf("%d nodes are out by leave, and %d may be", marked, may)
	}
}

func guarded(mode Mode) Policy {
	rules := guard.Default()
	rules.Rates = nil // chance knows no rate
	p := DefaultRepair()
	p.Mode, p.Probation, p.Guards = mode, time.Minute, &rules
	p.Drain.Mode, p.Reset.Mode, p.Reboot.Mode = MeansPods, MeansCommand, MeansCommand
	return p
}

// TestHerdUnderRandomHands: whatever comes, in whatever order, and with an API that
// loses writes and answers, the budget holds, hard faults are contained, and in the
// end everybody serves.
func TestHerdUnderRandomHands(t *testing.T) {
	for seed := range uint64(24) {
		h := newHerd(t, 25, guarded([]Mode{Contain, Repair}[seed%2]), seed)
		h.rough = true
		for range 60 {
			for range 5 {
				h.random(h.sheep[h.rng.IntN(len(h.sheep))])
			}
			h.step(time.Duration(h.rng.IntN(20)) * time.Second)
		}
		h.rough = false
		h.settle(t)
	}
}

func (h *herd) random(s *sheep) {
	switch h.rng.IntN(6) {
	case 0:
		h.open(s, fault.XID74, fault.Reset, false)
	case 1:
		h.open(s, fault.XID95, fault.Reset, true)
	case 2:
		data, err := s.plan.Snapshot()
		if err != nil {
			h.t.Fatal(err)
		}
		if s.plan, err = RestorePlan(s.policy, data, nil); err != nil {
			h.t.Fatal(err)
		}
		s.plan.Boot(h.now, s.boot)
		s.plan.Sources(h.now, Sources{Polled: true})
	default:
		h.close(s)
	}
}

// settle ends everything: first the hard faults must be contained, then everybody
// must go back to service.
func (h *herd) settle(t *testing.T) {
	h.step(time.Second)
	for _, s := range h.sheep {
		for _, v := range s.live {
			if v.Hard && !s.node.Tainted {
				t.Fatalf("%s has a hard fault and is in service", s.name)
			}
		}
	}
	for range 40 {
		for _, s := range h.sheep {
			h.close(s)
		}
		h.step(20 * time.Second)
	}
	for _, s := range h.sheep {
		if s.node.Unschedulable || s.node.Tainted || s.plan.Leave() != nil {
			t.Fatalf("%s did not go back to service: %+v", s.name, s.plan.Incidents())
		}
	}
}

// TestNothingStaleActsAfterAnHour: an outbreak holds everybody for an hour, in which
// most faults go. When it opens, by the last but two's going, nobody acts but those
// who still have one.
func TestNothingStaleActsAfterAnHour(t *testing.T) {
	h := newHerd(t, 40, guarded(Repair), 1)
	for _, s := range h.sheep[:30] {
		h.open(s, fault.FabricManagerDead, fault.Reboot, false)
	}
	for range 180 {
		h.step(20 * time.Second)
		for _, s := range h.sheep {
			if s.node.Unschedulable || len(s.deeds) > 0 {
				t.Fatalf("%s acts in an outbreak: %v", s.name, s.deeds)
			}
		}
	}
	for _, s := range h.sheep[2:30] {
		h.close(s)
	}
	for range 30 {
		h.step(10 * time.Second)
		for k, s := range h.sheep[2:] {
			if s.node.Unschedulable || len(s.deeds) > 0 {
				t.Fatalf("node %d acts on what is over: %v", k+2, s.deeds)
			}
		}
	}
	for _, s := range h.sheep[:2] {
		if !s.node.Tainted || len(s.deeds) == 0 {
			t.Errorf("%s does not act once the guard has opened", s.name)
		}
	}
}

// TestARackThatTrainsItsLinks: of 288 nodes in 16 domains 214 have no links after
// they were switched on. None is rebooted, and none closed; most links come up later.
func TestARackThatTrainsItsLinks(t *testing.T) {
	var racks []*herd
	down := 0
	for r := range 16 {
		h := newHerd(t, 18, guarded(Repair), uint64(r))
		dark := 13
		if r < 6 {
			dark = 14
		}
		for _, s := range h.sheep[:dark] {
			h.open(s, "links-down", fault.Reboot, false)
		}
		racks, down = append(racks, h), down+dark
	}
	if down != 214 {
		t.Fatalf("%d are down", down)
	}
	for _, h := range racks {
		for n := range 60 {
			h.step(10 * time.Second)
			if n == 40 {
				for _, s := range h.sheep {
					h.close(s)
				}
			}
		}
		for _, s := range h.sheep {
			if len(s.deeds) > 0 || s.node.Unschedulable {
				t.Fatalf("%s was closed, or worse: %v", s.name, s.deeds)
			}
		}
	}
}
