package evidence

import (
	"testing"
	"time"

	"github.com/gpuhealthd/gpuhealthd/fault"
	"github.com/gpuhealthd/gpuhealthd/remediate"
)

// The agent's word stands over a bundle's, and an incident without a bundle is
// listed too; the newest is first.
func TestMerge(t *testing.T) {
	at := func(hour int) time.Time { return opened.Add(time.Duration(hour) * time.Hour) }
	list := Merge([]Summary{{ID: "a", State: "stale", Opened: at(1), Bytes: 7, Damage: "cut"}, {ID: "pruned from memory", Opened: at(0)}},
		[]remediate.Incident{
			{Verdict: fault.Verdict{ID: "a", Opened: at(1)}, State: remediate.Probation},
			{Verdict: fault.Verdict{ID: "b", Opened: at(2)}, Ended: at(3)},
		})
	var order string
	for _, s := range list {
		order += s.ID + " "
	}
	if order != "b a pruned from memory " {
		t.Errorf("order %s", order)
	}
	if a := list[1]; a.State != remediate.Probation || a.Bytes != 7 || a.Damage != "cut" {
		t.Errorf("%+v", a)
	}
}
