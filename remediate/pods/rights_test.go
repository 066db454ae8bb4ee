package pods

import (
	"strings"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/gpuhealthd/gpuhealthd/remediate"
)

// rights are all that a drain needs; delete only for what is forced.
const rights = `
apiVersion: v1
kind: ServiceAccount
metadata: {name: drainer, namespace: default}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: drainer}
rules:
- {apiGroups: [""], resources: [pods], verbs: [list, patch]}
- {apiGroups: [""], resources: [pods/eviction], verbs: [create]}
- {apiGroups: [events.k8s.io], resources: [events], verbs: [create]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: drainer}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: drainer}
subjects:
- {kind: ServiceAccount, name: drainer, namespace: default}
`

func TestRightsThatADrainNeeds(t *testing.T) {
	t.Parallel()
	cluster := shared.Cluster(t)
	if err := cluster.Apply(t.Context(), []byte(rights)); err != nil {
		t.Fatal(err)
	}
	account := types.NamespacedName{Namespace: "default", Name: "drainer"}
	cluster.AwaitAllowed(t, account, authorizationv1.ResourceAttributes{Verb: "list", Resource: "pods"})
	b := newBench(t)
	options := b.options
	options.Config = cluster.ServiceAccount(t, account, b.name)
	pods, err := New(options)
	if err != nil {
		t.Fatal(err)
	}
	b.Pods = pods
	b.run("on-0")
	b.kubelet.Give(b.name, "on-0", resource, "GPU-0")
	b.kubelet.EndPods(t, b.admin, b.name, atOnce)

	forced := deed(0)
	forced.Force = true
	outcome, stop := b.start(forced)
	b.await("delete pods 403")
	b.await("list pods 200")
	stop()
	if got := <-outcome; !strings.Contains(got.Text, `cannot delete resource "pods"`) {
		t.Errorf("without the right to delete: %+v", got)
	}
	if got := b.drain(deed(0)); got.Result != remediate.Succeeded {
		t.Errorf("got %+v", got)
	}
	if log := b.log.String(); strings.Contains(log, "a pod still gets requests") || strings.Contains(log, "an event was not told") {
		t.Errorf("a right is missing:\n%s", log)
	}
}
