package serving

import (
	"slices"
	"testing"
	"time"
)

// TestStands has what routers are told: probation goes before the rest, and who was left
// by a peer may have requests, but is degraded.
func TestStands(t *testing.T) {
	t.Parallel()
	now := time.Unix(1e9, 0)
	const left = "it may serve from ns/p, which is gone"
	open := Trial{Over: now, Passed: Passes}
	failing := open
	const cut = "the canary's request: cut"
	failing.Failing, failing.Why, failing.words = now, "the canary's request: slow", words{text: cut}
	never, held := Trial{Failing: now}, Trial{Held: true, Canary: &Recent{}, words: failing.words}
	for name, c := range map[string]struct {
		trial Trial
		left  bool
		want  []Stand
	}{
		"in service":               {open, false, []Stand{{Standing: InService}}},
		"in service, left":         {open, true, []Stand{{Standing: Degraded, Why: left}}},
		"failing":                  {failing, false, []Stand{{Standing: Degraded, Why: cut}}},
		"failing, left":            {failing, true, []Stand{{Standing: Degraded, Why: left}}},
		"never passed, failing":    {never, false, []Stand{{Standing: Degraded, Why: "it fails its canary"}}},
		"on probation":             {Trial{Held: true}, false, []Stand{{Standing: OnProbation, Why: Trial{}.asks(now)}}},
		"on probation, cut":        {held, false, []Stand{{Standing: OnProbation, Why: "it has to answer two requests of a canary in a row first; " + cut}}},
		"on probation, left":       {Trial{Held: true}, true, []Stand{{Standing: OnProbation, Why: Trial{}.asks(now)}}},
		"not proved":               {Trial{}, false, nil},
		"not proved, left":         {Trial{}, true, []Stand{{Standing: Degraded, Why: left}}},
		"let in by hand, and left": {Trial{Held: true, Over: now}, true, []Stand{{Standing: Degraded, Why: left}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			peers := map[ID]string{{"ns/else", "u2"}: "ns/p"}
			if c.left {
				peers[cold.ID()] = "ns/p"
			}
			c.trial.Replica = cold
			got := Trials{cold.Name: &c.trial}.Stands(now, peers)
			equal := func(a, b Stand) bool {
				return a.Replica.ID() == cold.ID() && a.Standing == b.Standing && a.Why == b.Why
			}
			if !slices.EqualFunc(got, c.want, equal) {
				t.Errorf("got %+v, want %+v", got, c.want)
			}
			for _, s := range got {
				if SaysLeft(s.Why) != (s.Why == left) {
					t.Errorf("%q says left: %t", s.Why, SaysLeft(s.Why))
				}
			}
		})
	}
}

// TestUntried: a worker without a trial is told of while it was left by a peer, and once
// when it is no more.
func TestUntried(t *testing.T) {
	t.Parallel()
	tried := Worker{Name: cold.Name, UID: cold.UID, Degraded: true}
	trials := Trials{cold.Name: &Trial{Replica: cold}}
	w := Worker{Name: "ns/d", UID: "u9", GPUs: []string{"GPU-1"}}
	said := w
	said.Degraded = true
	left := map[ID]string{w.ID(): "ns/p", tried.ID(): "ns/p"}
	got := trials.Untried([]Worker{tried, w}, left)
	if len(got) != 1 || got[0].Replica.ID() != w.ID() || got[0].Standing != Degraded || !SaysLeft(got[0].Why) || len(got[0].Replica.GPUs) != 1 {
		t.Errorf("one that was left: %+v", got)
	}
	if got := trials.Untried([]Worker{tried, said}, nil); len(got) != 1 || got[0].Replica.ID() != w.ID() || got[0].Standing != InService || got[0].Why != "" {
		t.Errorf("one that was: %+v", got)
	}
	if got := trials.Untried([]Worker{tried, w}, nil); len(got) != 0 {
		t.Errorf("one that was not: %+v", got)
	}
}
