package daemontest

import (
	"os"
	"path/filepath"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/gpuhealthd/gpuhealthd/internal/config"
	"github.com/gpuhealthd/gpuhealthd/test/kubetest"
)

// Account is the daemon's in deploy/daemonset.yaml.
func Account() types.NamespacedName {
	return types.NamespacedName{Namespace: "gpuhealthd", Name: "gpuhealthd"}
}

// Deploy applies deploy/daemonset.yaml as an operator would, and returns when the
// account has its rights.
func (p *Programs) Deploy(t testing.TB, cluster *kubetest.Cluster) {
	t.Helper()
	p.apply(t, cluster, "daemonset.yaml",
		authorizationv1.ResourceAttributes{Verb: "watch", Resource: "nodes"},
		authorizationv1.ResourceAttributes{Verb: "patch", Resource: "nodes"},
		authorizationv1.ResourceAttributes{Verb: "patch", Resource: "nodes", Subresource: "status"},
		authorizationv1.ResourceAttributes{Verb: "create", Group: "events.k8s.io", Resource: "events", Namespace: metav1.NamespaceDefault},
	)
}

// DeployRepair adds deploy/repair.yaml to what Deploy has applied.
func (p *Programs) DeployRepair(t testing.TB, cluster *kubetest.Cluster) {
	t.Helper()
	p.apply(t, cluster, "repair.yaml",
		authorizationv1.ResourceAttributes{Verb: "list", Resource: "pods"},
		authorizationv1.ResourceAttributes{Verb: "create", Resource: "pods", Subresource: "eviction"},
		authorizationv1.ResourceAttributes{Verb: "create", Group: "events.k8s.io", Resource: "events"},
	)
}

// apply applies a manifest of deploy/, and returns when the account has the rights.
func (p *Programs) apply(t testing.TB, cluster *kubetest.Cluster, name string, rights ...authorizationv1.ResourceAttributes) {
	t.Helper()
	p.get(t)
	manifest, err := os.ReadFile(filepath.Join(p.root, "deploy", name))
	if err != nil {
		t.Fatal(err)
	}
	if err := cluster.Apply(t.Context(), manifest); err != nil {
		t.Fatal(err)
	}
	for _, right := range rights {
		cluster.AwaitAllowed(t, Account(), right)
	}
}

// OnCluster creates a Node and lets the daemon act on it, under a token of a
// service account.
func (d *Daemon) OnCluster(cluster *kubetest.Cluster, node string, account types.NamespacedName) *corev1.Node {
	d.t.Helper()
	d.Config.Actuator, d.Config.Node = config.ActuatorKubernetes, node
	d.Config.Kubernetes.Kubeconfig = kubetest.Kubeconfig(d.t, cluster.ServiceAccount(d.t, account, ""))
	return cluster.CreateNode(d.t, node)
}

// AwaitSettled returns when everything that the plan wants is done and told.
func (d *Daemon) AwaitSettled() {
	d.t.Helper()
	Await(d.t, "nothing waits to be written", func() bool { return d.Metric("intentions_waiting") == 0 })
}
