package remediate

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSettle(t *testing.T) {
	note := func(id string, owner Owner) *Note { return &Note{ID: id, Owner: owner} }
	contain := Desired{Quarantine: true, Note: note("a", "")}
	tell := Desired{Note: note("a", "")}
	cases := map[string]struct {
		want       Desired
		have, then Observed
	}{
		"healthy stays": {Desired{}, Observed{Exists: true}, Observed{Exists: true}},
		"contain": {
			contain, Observed{Exists: true, UID: "u"},
			Observed{Exists: true, UID: "u", Unschedulable: true, Tainted: true, Note: note("a", OwnerAgent)},
		},
		"contain under an administrator's cordon": {
			contain, Observed{Unschedulable: true},
			Observed{Unschedulable: true, Tainted: true, Note: note("a", OwnerAdministrator)},
		},
		"contain after telling": {
			contain, Observed{Note: note("a", "")},
			Observed{Unschedulable: true, Tainted: true, Note: note("a", OwnerAgent)},
		},
		"tell": {tell, Observed{}, Observed{Note: note("a", "")}},
		"release": {
			Desired{}, Observed{Unschedulable: true, Tainted: true, Note: note("a", OwnerAgent)},
			Observed{},
		},
		"release under an administrator's cordon": {
			Desired{}, Observed{Unschedulable: true, Tainted: true, Note: note("a", OwnerAdministrator)},
			Observed{Unschedulable: true},
		},
		"an administrator's uncordon": {
			contain, Observed{Tainted: true, Note: note("a", OwnerAgent)},
			Observed{Note: note("a", OwnerAgent)},
		},
		"quarantine without a note claims nothing": {
			Desired{Quarantine: true}, Observed{}, Observed{},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			then := Settle(c.want, c.have)
			if diff := cmp.Diff(c.then, then); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(then, Settle(c.want, then)); diff != "" {
				t.Errorf("not settled after all: %s", diff)
			}
		})
	}
}

func TestLabels(t *testing.T) {
	none := 0
	got := Desired{State: Quarantined, Fault: "xid-79", GPUsHealthy: &none}.Labels()
	want := map[string]string{LabelState: "quarantined", LabelFault: "xid-79", LabelGPUs: "0"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
