package remediate

import (
	"testing"
	"time"

	"github.com/gpuhealthd/gpuhealthd/fault"
)

// Every state has a deadline, something that happens then, and a way out; from each
// there is a way back to healthy. Healthy alone may last.
func TestStatesHaveAWayOut(t *testing.T) {
	found := map[NodeState]StateRule{}
	for _, r := range States() {
		found[r.State] = r
		if r.Means == "" || len(r.Exits) == 0 {
			t.Errorf("%s: no meaning, or no exit", r.State)
		}
		if r.State == Healthy {
			continue
		}
		if r.Deadline == "" || r.Passed == "" || r.Limit == nil || r.Limit(DefaultRepair()) <= 0 {
			t.Errorf("%s: no deadline", r.State)
		}
	}
	for s := range found {
		if !reaches(found, s, Healthy, map[NodeState]bool{}) || !reaches(found, Healthy, s, map[NodeState]bool{}) {
			t.Errorf("%s: no way to healthy, or from it", s)
		}
	}
	for s := range 7 {
		if state := []NodeState{Healthy, Suspect, Probation, Quarantined, Draining, Repairing, Failed}[s]; found[state].State != state || severity(state) != s {
			t.Errorf("%s is not a state, or not of severity %d", state, s)
		}
	}
}

func reaches(rules map[NodeState]StateRule, from, to NodeState, seen map[NodeState]bool) bool {
	if from == to {
		return true
	}
	seen[from] = true
	for _, e := range rules[from].Exits {
		if !seen[e.To] && reaches(rules, e.To, to, seen) {
			return true
		}
	}
	return false
}

// A site that goes back from repair to contain: what is under way is called off, what
// the agent did itself is not done again, what was changed is put back.
func TestContainAfterRepair(t *testing.T) {
	for _, c := range []struct {
		name    string
		reset   Means
		drained bool
		undo    bool
	}{
		{"in a drain", MeansCommand, false, false},
		{"in a drain that changed something", MeansCommand, false, true},
		{"in a reset of its own", MeansCommand, true, true},
		{"in a reset by others", MeansAnnotation, true, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			now := time.Date(2026, 11, 30, 3, 0, 0, 0, time.UTC)
			policy := DefaultRepair()
			policy.Drain.Mode, policy.Reset.Mode = MeansPods, c.reset
			p := atWork(t, now, policy, c.drained)
			if c.undo && !p.Owes(now, p.Deed().ID, "something") {
				t.Fatal("the deed must not change anything")
			}
			data, err := p.Snapshot()
			if err != nil {
				t.Fatal(err)
			}
			if p, err = RestorePlan(Policy{Mode: Contain, Probation: time.Minute}, data, nil); err != nil {
				t.Fatal(err)
			}
			p.Boot(now, "a")
			p.Tick(now.Add(time.Second))
			if d := p.Deed(); (d != nil) != c.undo || d != nil && !d.Undoing {
				t.Errorf("under way is %+v, want what has to be put back alone", d)
			}
			i := p.Incidents()[0]
			if i.State != Quarantined || !i.Asks(StepReset) {
				t.Errorf("state %s, steps %v; want %s, and a reset asked of others", i.State, i.Steps, Quarantined)
			}
		})
	}
}

// atWork gives a plan that drains for a fault, or that has drained and resets.
func atWork(t *testing.T, now time.Time, policy Policy, drained bool) *Plan {
	t.Helper()
	gpu := gpus[0]
	p := NewPlan(policy)
	p.Boot(now.Add(-time.Minute), "a")
	p.Sources(now.Add(-time.Minute), Sources{Polled: true, GPUs: gpus[:]})
	p.Verdict(now.Add(-time.Minute), fault.Verdict{ID: "b-1", Class: fault.XID95, Hardware: true, Hard: true, Radius: fault.GPU,
		Action: fault.Reset, Drain: fault.DrainNow, GPUs: []fault.Device{gpu}, Affected: []fault.Device{gpu}})
	p.Node(now.Add(-time.Minute), Settle(p.Desired(), Observed{Exists: true, UID: "u"}))
	if d := p.Deed(); d == nil || d.Kind != StepDrain {
		t.Fatalf("under way is %+v, want a drain", d)
	}
	if drained {
		p.Done(now.Add(-time.Second), Outcome{Deed: p.Deed().ID, Result: Succeeded})
		p.Occupied(now, Occupancy{At: now})
		if d := p.Deed(); d == nil || d.Kind != StepReset {
			t.Fatalf("under way is %+v, want a reset", d)
		}
	}
	return p
}
