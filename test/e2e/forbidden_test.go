package e2e

import (
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"github.com/gpuhealthd/gpuhealthd/test/daemontest"
)

// weak is an account that may watch Nodes and tell events, and not write to a
// Node.
const weak = `
apiVersion: v1
kind: ServiceAccount
metadata: {name: weak, namespace: gpuhealthd}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: weak}
rules:
- {apiGroups: [""], resources: [nodes], verbs: [get, list, watch]}
- {apiGroups: [events.k8s.io], resources: [events], verbs: [create]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: weak}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: weak}
subjects:
- {kind: ServiceAccount, name: weak, namespace: gpuhealthd}
`

// granted gives it what deploy/ gives the daemon.
const granted = `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: weak-granted}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: gpuhealthd}
subjects:
- {kind: ServiceAccount, name: weak, namespace: gpuhealthd}
`

func TestAMissingRightIsLoudAndMendedWithoutARestart(t *testing.T) {
	t.Parallel()
	cluster := shared.Cluster(t)
	programs.Deploy(t, cluster)
	must(t, cluster.Apply(t.Context(), []byte(weak)))
	h := withAccount(t, cluster, types.NamespacedName{Namespace: "gpuhealthd", Name: "weak"})
	h.StartReady()
	h.lose(5)
	h.AwaitMetric(1, "verdicts_total", `fault="xid-79"`)
	h.AwaitMetric(1, "node_applies_total", `result="forbidden"`)
	h.AwaitMetric(1, "api_request_seconds_count", `verb="patch"`, `code="403"`)
	h.AwaitLog(`"level":"ERROR"`, "is forbidden", h.name)
	daemontest.Await(t, "the missing right is told", func() bool { return len(h.events("NodeWriteForbidden")) == 1 })
	if n := h.object(); n.Spec.Unschedulable || contained(n) {
		t.Fatal("the account has the right")
	}

	must(t, cluster.Apply(t.Context(), []byte(granted)))
	if got := noteOf(t, h.awaitContained()); got.Fault != "xid-79" {
		t.Errorf("incident %+v", got)
	}
	h.awaitEvent("FaultDetected")
}
