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
	both := func() map[string]string {
		return map[string]string{KeepClusterAutoscaler: KeepValue, KeepKarpenter: KeepValue}
	}
	marked := func(kept ...string) *Note { return &Note{ID: "a", Owner: OwnerAgent, Kept: kept} }
	held := func(kept map[string]string, ours ...string) Observed {
		return Observed{Unschedulable: true, Tainted: true, Note: marked(ours...), Kept: kept}
	}
	shielded := Desired{Quarantine: true, Keep: true, Note: note("a", "")}
	karpenter := func(value string) map[string]string { return map[string]string{KeepKarpenter: value} }
	for name, c := range map[string]struct {
		want       Desired
		have, then Observed
	}{
		"kept from autoscalers": {shielded, Observed{}, held(both(), KeepAnnotations()...)},
		"an administrator's annotation is not ours": {
			shielded, Observed{Kept: karpenter("false")},
			held(map[string]string{KeepClusterAutoscaler: KeepValue, KeepKarpenter: "false"}, KeepClusterAutoscaler),
		},
		"ours that was taken away stays away":   {shielded, held(karpenter(KeepValue), KeepAnnotations()...), held(karpenter(KeepValue), KeepAnnotations()...)},
		"released, ours go":                     {Desired{}, held(both(), KeepAnnotations()...), Observed{}},
		"released, an administrator's stays":    {Desired{}, held(both(), KeepClusterAutoscaler), Observed{Kept: karpenter(KeepValue)}},
		"released, ours that was changed stays": {Desired{}, held(karpenter("false"), KeepAnnotations()...), Observed{Kept: karpenter("false")}},
		"switched off":                          {contain, held(both(), KeepAnnotations()...), held(nil)},
		"the next incident takes over": {
			Desired{Quarantine: true, Keep: true, Note: note("b", "")}, held(both(), KeepAnnotations()...),
			Observed{Unschedulable: true, Tainted: true, Kept: both(), Note: &Note{ID: "b", Owner: OwnerAgent, Kept: KeepAnnotations()}},
		},
		"an administrator's uncordon takes ours": {
			shielded, Observed{Tainted: true, Note: marked(KeepAnnotations()...), Kept: both()}, Observed{Note: marked()},
		},
		"a Node that was created anew": {shielded, Observed{UID: "new"}, func() Observed { o := held(both(), KeepAnnotations()...); o.UID = "new"; return o }()},
	} {
		cases[name] = c
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
