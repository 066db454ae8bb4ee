package kube

import (
	"maps"
	"testing"

	"github.com/gpuhealthd/gpuhealthd/remediate"
)

// kept is an incident whose node is kept from autoscalers.
func kept(incident string) remediate.Desired {
	want := quarantined(incident)
	want.Keep = true
	return want
}

// What was on the Node before an incident is there after it, on a Node without
// any annotation, with others, and with an administrator's own word to an
// autoscaler.
func TestAutoscalersAreToldForTheIncidentOnly(t *testing.T) {
	both := map[string]string{remediate.KeepClusterAutoscaler: "true", remediate.KeepKarpenter: "true"}
	for name, c := range map[string]struct {
		before string
		during map[string]string
	}{
		"bare":    {`{}`, both},
		"beside":  {`{"metadata":{"annotations":{"note":"by hand"}}}`, both},
		"refused": {`{"metadata":{"annotations":{"karpenter.sh/do-not-disrupt":"false"}}}`, map[string]string{remediate.KeepClusterAutoscaler: "true", remediate.KeepKarpenter: "false"}},
		"same":    {`{"metadata":{"annotations":{"karpenter.sh/do-not-disrupt":"true"}}}`, both},
	} {
		t.Run(name, func(t *testing.T) {
			b := onNode(t, shared.Cluster(t))
			b.edit(t, c.before)
			before := b.object(t).Annotations
			b.apply(t, kept("a"))
			b.apply(t, kept("b"))
			during := b.object(t).Annotations
			for key, value := range c.during {
				if during[key] != value {
					t.Errorf("during the incident %s is %q, want %q", key, during[key], value)
				}
			}
			patches := b.requests.count("patch ")
			b.apply(t, kept("b"))
			if n := b.requests.count("patch ") - patches; n > 0 {
				t.Errorf("%d writes for nothing new", n)
			}
			b.apply(t, healthy())
			if after := b.object(t).Annotations; !maps.Equal(before, after) {
				t.Errorf("before %v, after %v", before, after)
			}
		})
	}
}
