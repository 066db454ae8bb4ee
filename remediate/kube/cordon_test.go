package kube

import (
	"testing"

	"github.com/gpuhealthd/gpuhealthd/remediate"
)

// Whose a cordon is, in every order of an administrator and us. Each step is
// either a wish that is applied or what an administrator does.
func TestWhoseTheCordonIs(t *testing.T) {
	type step struct {
		admin string
		want  *remediate.Desired
	}
	wish := func(want remediate.Desired) step { return step{want: &want} }
	admin := func(patch string) step { return step{admin: patch} }
	open, clear := wish(quarantined("a")), wish(healthy())
	cases := []struct {
		name     string
		steps    []step
		cordoned bool
		owner    remediate.Owner // empty: no mark
	}{
		{"ours, held", []step{open}, true, remediate.OwnerAgent},
		{"ours, released", []step{open, clear}, false, ""},
		{"admin before, held", []step{admin(cordon), open}, true, remediate.OwnerAdministrator},
		{"admin before, cleared", []step{admin(cordon), open, clear}, true, ""},
		{"admin before, uncordoned in between", []step{admin(cordon), open, admin(uncordon), open}, false, remediate.OwnerAdministrator},
		{"admin before, uncordoned in between, cleared", []step{admin(cordon), open, admin(uncordon), open, clear}, false, ""},
		{"admin while ours", []step{open, admin(cordon), open, clear}, false, ""},
		{"admin uncordons ours", []step{open, admin(uncordon), open, open}, false, remediate.OwnerAgent},
		{"admin uncordons ours, cleared", []step{open, admin(uncordon), open, clear}, false, ""},
		{"admin uncordons ours, then cordons", []step{open, admin(uncordon), open, clear, admin(cordon), clear}, true, ""},
		{"admin uncordons ours, the next incident", []step{open, admin(uncordon), open, wish(quarantined("b"))}, true, remediate.OwnerAgent},
		{"admin cordons a healthy node", []step{clear, admin(cordon), clear}, true, ""},
		{"admin cordons after the release", []step{open, clear, admin(cordon), clear}, true, ""},
		{"suspect first", []step{wish(suspect("a")), open}, true, remediate.OwnerAgent},
		{"suspect first, released", []step{wish(suspect("a")), open, clear}, false, ""},
		{"suspect first under an admin's cordon", []step{admin(cordon), wish(suspect("a")), open}, true, remediate.OwnerAdministrator},
		{"contained, then only suspect", []step{open, wish(suspect("a"))}, false, ""},
		{"the mark is garbled", []step{open, admin(`{"metadata":{"annotations":{"gpuhealthd.io/incident":"{"}}}`), clear}, true, ""},
		{"the mark is emptied", []step{open, admin(`{"metadata":{"annotations":{"gpuhealthd.io/incident":""}}}`), open}, true, remediate.OwnerAdministrator},
	}
	for _, c := range cases {
		for _, watched := range []bool{false, true} {
			name := c.name
			if watched {
				name += ", watched"
			}
			t.Run(name, func(t *testing.T) {
				b := onNode(t, shared.Cluster(t))
				if watched {
					b.watching(t)
				}
				var got remediate.Observed
				for _, s := range c.steps {
					if s.want == nil {
						b.edit(t, s.admin)
						b.caughtUp(t)
					} else {
						got = b.apply(t, *s.want)
					}
				}
				if now := viewOf(b.object(t)).observed(); now.Unschedulable != got.Unschedulable || now.Tainted != got.Tainted {
					t.Errorf("observed %+v, the Node is %+v", got, now)
				}
				if got.Unschedulable != c.cordoned {
					t.Errorf("cordoned is %v, want %v", got.Unschedulable, c.cordoned)
				}
				var owner remediate.Owner
				if got.Note != nil {
					owner = got.Note.Owner
				}
				if owner != c.owner {
					t.Errorf("the cordon is %q's, want %q", owner, c.owner)
				}
				if got.Tainted && !got.Unschedulable {
					t.Error("our taint is left on a Node that is not cordoned")
				}
			})
		}
	}
}
