package dra

import (
	"strings"
	"testing"
	"time"

	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// A rule of our name that somebody has made for another node's device is no fence.
func TestARuleOfOurNameForAnotherNode(t *testing.T) {
	b := newBench(t, "fence-squat", shared.Cluster(t).Admin())
	b.slice("fence-squat-1", Driver, b.node, 1, dev("gpu-0", "uuid=GPU-0"))
	driver, pool, device := Driver, "thief", "gpu-0"
	_, err := b.admin.ResourceV1().DeviceTaintRules().Create(t.Context(), &resourcev1.DeviceTaintRule{
		ObjectMeta: metav1.ObjectMeta{Name: prefix(b.node) + device, Labels: map[string]string{Label: hashOf(b.node)}},
		Spec: resourcev1.DeviceTaintRuleSpec{
			DeviceSelector: &resourcev1.DeviceTaintSelector{Driver: &driver, Pool: &pool, Device: &device},
			Taint:          resourcev1.DeviceTaint{Key: "gpuhealthd.io/quarantine", Value: "xid-48", Effect: resourcev1.DeviceTaintEffectNoSchedule},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // the next trial is no cleverer
		if got := b.fence(of("GPU-0")); len(got[0].Rules) > 0 || !strings.Contains(got[0].Why, `already, for pool "thief"`) {
			t.Errorf("%+v", got)
		}
	}
	b.want()
}

// A rule that somebody changes fences no longer what it should: that is seen, whatever
// was changed, and it is made anew once the node does not rely on it.
func TestARuleThatSomebodyChanges(t *testing.T) {
	for name, c := range map[string]struct{ patch, says string }{
		"effect":   {`{"spec":{"taint":{"effect":"None"}}}`, `"effect":"None"`},
		"value":    {`{"spec":{"taint":{"value":"fine"}}}`, `"value":"fine"`},
		"device":   {`{"spec":{"deviceSelector":{"device":"gpu-1"}}}`, `"device":"gpu-1"`},
		"no-label": {`{"metadata":{"labels":null}}`, "lost its label"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, "changed-"+name, shared.Cluster(t).Admin())
			b.slice(b.node, Driver, b.node, 1, dev("gpu-0", "uuid=GPU-0"), dev("gpu-1", "uuid=GPU-1"))
			stands := relied(b.fence(of("GPU-0"))[0])
			if _, err := b.admin.ResourceV1().DeviceTaintRules().Patch(t.Context(), stands.Rules[0], types.MergePatchType, []byte(c.patch), metav1.PatchOptions{}); err != nil {
				t.Fatal(err)
			}
			got := b.fence(stands)
			if got[0].Gone || !strings.Contains(got[0].Changed, c.says) {
				t.Fatalf("%+v", got)
			}
			stands.Since = time.Time{}
			if got := b.fence(stands); got[0].Why != "" || got[0].Changed != "" {
				t.Errorf("%+v", got)
			}
			b.want("gpu-0=xid-48")
			b.fence()
			b.want()
		})
	}
}

// A rule that may not be deleted any more is told as one that stays.
func TestARuleThatMayNotBeTakenAway(t *testing.T) {
	cluster := shared.Cluster(t)
	b := newBench(t, "fence-stays", cluster.Admin())
	b.slice("fence-stays-1", Driver, b.node, 1, dev("gpu-0", "uuid=GPU-0"))
	stands := relied(b.fence(of("GPU-0"))[0])
	if err := cluster.Apply(t.Context(), []byte(looker)); err != nil {
		t.Fatal(err)
	}
	key := types.NamespacedName{Namespace: "default", Name: "looker"}
	stands.Ends = true
	for what, by := range map[string]*bench{
		"no right to delete": newBench(t, b.node, cluster.ServiceAccount(t, key, "")),
		"no right at all":    newBench(t, b.node, cluster.ServiceAccount(t, types.NamespacedName{Namespace: "default", Name: "stranger"}, "")),
	} {
		if got := by.fence(stands); len(got) != 1 || got[0].Gone || !strings.Contains(got[0].Why, "forbidden") {
			t.Errorf("%s: %+v", what, got)
		}
	}
	if got := newBench(t, b.node, cluster.ServiceAccount(t, key, "")).fence(); len(got) != 1 || !got[0].Ends || got[0].GPU != "GPU-0" || !strings.Contains(got[0].Why, "forbidden") {
		t.Errorf("left behind by another: %+v", got)
	}
	if got := b.fence(stands); len(got) != 1 || !got[0].Gone {
		t.Errorf("%+v", got)
	}
	b.want()
}

// looker may see rules, and stranger nothing.
const looker = `
apiVersion: v1
kind: ServiceAccount
metadata: {name: looker, namespace: default}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: stranger, namespace: default}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: looker}
rules:
- {apiGroups: [resource.k8s.io], resources: [devicetaintrules], verbs: [list]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: looker}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: looker}
subjects: [{kind: ServiceAccount, name: looker, namespace: default}]
`
