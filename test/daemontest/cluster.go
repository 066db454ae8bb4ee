package daemontest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/gpuhealthd/gpuhealthd/internal/config"
	"github.com/gpuhealthd/gpuhealthd/test/kubetest"
)

// Account is the daemon's in deploy/daemonset.yaml.
func Account() types.NamespacedName {
	return types.NamespacedName{Namespace: "gpuhealthd", Name: "gpuhealthd"}
}

// Deploy applies deploy/daemonset.yaml and deploy/admission.yaml as an operator would,
// and returns when the account has its rights and is held to its node.
func (p *Programs) Deploy(t testing.TB, cluster *kubetest.Cluster) {
	t.Helper()
	p.apply(t, cluster, "daemonset.yaml",
		authorizationv1.ResourceAttributes{Verb: "watch", Resource: "nodes"},
		authorizationv1.ResourceAttributes{Verb: "patch", Resource: "nodes"},
		authorizationv1.ResourceAttributes{Verb: "patch", Resource: "nodes", Subresource: "status"},
		authorizationv1.ResourceAttributes{Verb: "create", Group: "events.k8s.io", Resource: "events", Namespace: metav1.NamespaceDefault},
		authorizationv1.ResourceAttributes{Verb: "create", Group: "coordination.k8s.io", Resource: "leases", Namespace: Account().Namespace},
	)
	p.apply(t, cluster, "admission.yaml")
	awaitPolicy(t, cluster)
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

// DeployServing adds deploy/serving.yaml to what DeployRepair has applied.
func (p *Programs) DeployServing(t testing.TB, cluster *kubetest.Cluster) {
	t.Helper()
	p.apply(t, cluster, "serving.yaml",
		authorizationv1.ResourceAttributes{Verb: "watch", Resource: "pods"},
		authorizationv1.ResourceAttributes{Verb: "patch", Resource: "pods", Subresource: "status"},
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
	// The policy allows all that the agent can be configured to do.
	open := strings.NewReplacer(`operands: "false"`, `operands: "true"`, `autoscalers: "false"`, `autoscalers: "true"`)
	if err := cluster.Apply(t.Context(), []byte(open.Replace(string(manifest)))); err != nil {
		t.Fatal(err)
	}
	for _, right := range rights {
		cluster.AwaitAllowed(t, Account(), right)
	}
}

// awaitPolicy returns when a token of the account that no node is named in may not write.
func awaitPolicy(t testing.TB, cluster *kubetest.Cluster) {
	t.Helper()
	node := cluster.CreateNode(t, fmt.Sprintf("nobodys-%x", rand.Uint32()))
	nodes := kubernetes.NewForConfigOrDie(cluster.ServiceAccount(t, Account(), "")).CoreV1().Nodes()
	kubetest.AwaitForbidden(t, "a write by a token of no node", func(ctx context.Context) error {
		_, err := nodes.Patch(ctx, node.Name, types.MergePatchType, []byte(`{"spec":{"unschedulable":true}}`), metav1.PatchOptions{})
		return err
	})
}

// OnCluster creates a Node and lets the daemon act on it, under the token that a pod
// of a service account has there.
func (d *Daemon) OnCluster(cluster *kubetest.Cluster, node string, account types.NamespacedName) *corev1.Node {
	d.t.Helper()
	created := cluster.CreateNode(d.t, node)
	d.Config.Actuator, d.Config.Node = config.ActuatorKubernetes, node
	d.Config.Kubernetes.Kubeconfig = kubetest.Kubeconfig(d.t, cluster.Projected(d.t, account, node))
	d.Env = append(d.Env, "POD_NAMESPACE="+account.Namespace, "POD_NAME="+account.Name+"-"+node)
	return created
}

// AwaitSettled returns when everything that the plan wants is done and told.
func (d *Daemon) AwaitSettled() {
	d.t.Helper()
	Await(d.t, "nothing waits to be written", func() bool { return d.Metric("intentions_waiting") == 0 })
}
