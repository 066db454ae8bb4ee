package kube

import (
	"testing"

	"github.com/gpuhealthd/gpuhealthd/remediate"
)

// diagnosed is a node on which DCGM has found something, or nothing.
func diagnosed(want remediate.Desired) remediate.Desired {
	want.Diag, want.DiagAt = "pass-2", "2026-11-30T09:12:00Z"
	if want.Quarantine {
		want.Diag = "fail-3"
	}
	return want
}

// The annotation that asks for a diagnosis goes once it is heard, whatever else the
// Node says; one that was set anew meanwhile stays.
func TestARequestIsTakenOnce(t *testing.T) {
	for name, before := range map[string]string{
		"alone":  `{"metadata":{"annotations":{"gpuhealthd.io/diag-request":"3"}}}`,
		"beside": `{"metadata":{"annotations":{"note":"by hand","gpuhealthd.io/diag-request":"3"}}}`,
	} {
		t.Run(name, func(t *testing.T) {
			b := onNode(t, shared.Cluster(t))
			b.edit(t, before)
			asked := healthy()
			if got := b.apply(t, asked); got.Asks != "3" {
				t.Errorf("asks %q before it is heard, want 3", got.Asks)
			}
			asked.Taken = "2"
			if got := b.apply(t, asked); got.Asks != "3" {
				t.Errorf("asks %q, and 2 was heard: want 3", got.Asks)
			}
			asked.Taken = "3"
			got := b.apply(t, diagnosed(asked))
			_, there := b.object(t).Annotations[remediate.AskAnnotation]
			if got.Asks != "" || there {
				t.Errorf("asks %q once it was heard", got.Asks)
			}
			if at := b.object(t).Annotations[remediate.DiagAnnotation]; at != "2026-11-30T09:12:00Z" {
				t.Errorf("diagnosed at %q", at)
			}
			if b.apply(t, healthy()); b.object(t).Annotations[remediate.DiagAnnotation] != "" {
				t.Error("the time of a diagnosis stays that is none any more")
			}
		})
	}
}
