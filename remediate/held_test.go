package remediate

import (
	"strings"
	"testing"
	"time"

	"github.com/gpuhealthd/gpuhealthd/fault"
	"github.com/gpuhealthd/gpuhealthd/remediate/guard"
)

// A guard that goes on to hold for another reason says so, and since when it holds at
// all; that its figures change it does not say again.
func TestAnotherReasonIsTold(t *testing.T) {
	rules := guard.Default()
	now := time.Unix(1_800_000_000, 0)
	p := NewPlan(Policy{Mode: Contain, Guards: &rules})
	p.Sources(now, Sources{Polled: true})
	p.Verdict(now, fault.Verdict{ID: "b-1", Class: fault.LinksDown, Hardware: true, Opened: now, Action: fault.Reset})
	began := now
	for _, h := range []guard.Hold{
		{Guard: guard.Outbreak, Kind: guard.Young, Why: "young"},
		{Guard: guard.Outbreak, Kind: guard.Rollout, Why: "on 3 nodes"},
		{Guard: guard.Outbreak, Kind: guard.Rollout, Why: "on 4 nodes"},
	} {
		now = now.Add(time.Minute)
		p.Replied(now, Reply{Held: []Refusal{{Ask: p.Asks()[0], Holds: []guard.Hold{h}}}})
		if held := p.Incidents()[0].Held; len(held) != 1 || held[0].Why != h.Why || !held[0].Since.Equal(began.Add(time.Minute)) {
			t.Errorf("%+v", held)
		}
	}
	var told []string
	for _, e := range p.Outbox() {
		if e.Reason == "ActionHeld" {
			told = append(told, e.Message)
		}
	}
	says := func(n int, what string) bool { return len(told) > n && strings.Contains(told[n], what) }
	if len(told) != 2 || !says(0, "young") || !says(1, "on 3 nodes") {
		t.Errorf("%q", told)
	}
}
