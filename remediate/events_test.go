package remediate

import (
	"testing"
	"time"
)

// A store that breaks again within the life of the API's events is told again;
// one that turns back and forth while nobody listens does not fill the outbox.
func TestABrokenStoreIsToldEachTime(t *testing.T) {
	p, now := NewPlan(Policy{}), time.Date(2026, 11, 30, 11, 0, 0, 0, time.UTC)
	broken := func() { p.Sources(now, Sources{Store: "the disk is full"}) }
	mended := func() { p.Sources(now, Sources{}) }
	broken()
	first := p.Outbox()
	broken() // it still is
	if again := p.Outbox(); len(first) != 1 || len(again) != 1 || again[0] != first[0] {
		t.Fatalf("outbox %v, then %v, want one event that stays as it is", first, again)
	}
	p.Told(first[0].Key)
	mended()
	now = now.Add(10 * time.Minute)
	broken()
	var second Event
	for _, e := range p.Outbox() {
		if e.Reason == "StoreBroken" {
			second = e
		}
	}
	if second.Key == "" || second.Key == first[0].Key {
		t.Errorf("the second breakage has the key %q, the first had %q", second.Key, first[0].Key)
	}
	for range 100 {
		now = now.Add(time.Minute)
		mended()
		broken()
	}
	if n := len(p.Outbox()); n != 2 {
		t.Errorf("%d events wait, want the newest of either kind", n)
	}
}
