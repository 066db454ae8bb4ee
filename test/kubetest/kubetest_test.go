package kubetest_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/gpuhealthd/gpuhealthd/test/kubetest"
)

var shared kubetest.Shared

func TestMain(m *testing.M) {
	defer shared.Stop()
	m.Run()
}

func client(t *testing.T, config *rest.Config) kubernetes.Interface {
	t.Helper()
	c, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestNodeSurvivesAnOutage(t *testing.T) {
	cluster := shared.Cluster(t)
	admin := client(t, cluster.Admin())
	created := cluster.CreateNode(t, "outage")
	if len(created.Spec.Taints) != 1 || created.Spec.Taints[0].Key != corev1.TaintNodeNotReady {
		t.Errorf("a new node's taints are %v, want the API server's not-ready", created.Spec.Taints)
	}

	cluster.StopAPIServer()
	if _, err := admin.CoreV1().Nodes().Get(t.Context(), "outage", metav1.GetOptions{}); err == nil {
		t.Error("a stopped API server answered")
	}
	if err := cluster.StartAPIServer(); err != nil {
		t.Fatal(err)
	}

	found, err := admin.CoreV1().Nodes().Get(t.Context(), "outage", metav1.GetOptions{})
	if err != nil {
		t.Fatalf("the client of before the outage: %v", err)
	}
	if found.UID != created.UID {
		t.Errorf("node has UID %s after the outage, %s before", found.UID, created.UID)
	}
}

func TestPausedAPIServerIsSilent(t *testing.T) {
	cluster := shared.Cluster(t)
	admin := client(t, cluster.Admin())
	if err := cluster.PauseAPIServer(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if _, err := admin.CoreV1().Nodes().List(ctx, metav1.ListOptions{}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a paused API server gave %v, want silence until the deadline", err)
	}
	if err := cluster.ResumeAPIServer(); err != nil {
		t.Fatal(err)
	}
	if _, err := admin.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{}); err != nil {
		t.Errorf("a resumed API server: %v", err)
	}
}

const reader = `
apiVersion: v1
kind: ServiceAccount
metadata: {name: reader, namespace: default}
---
# nothing but a comment
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: reader}
rules:
- {apiGroups: [""], resources: [nodes], verbs: [get]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: reader}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: reader}
subjects:
- {kind: ServiceAccount, name: reader, namespace: default}
`

func TestServiceAccountHasItsRoleAndItsNode(t *testing.T) {
	cluster := shared.Cluster(t)
	if err := cluster.Apply(t.Context(), []byte(reader)); err != nil {
		t.Fatal(err)
	}
	cluster.CreateNode(t, "bound")
	account := types.NamespacedName{Namespace: "default", Name: "reader"}
	cluster.AwaitAllowed(t, account, authorizationv1.ResourceAttributes{Verb: "get", Resource: "nodes"})
	tests := []struct {
		node   string
		config *rest.Config
	}{
		{"", cluster.ServiceAccount(t, account, "")},
		{"bound", cluster.ServiceAccount(t, account, "bound")},
		{"bound", cluster.Projected(t, account, "bound")},
	}
	for _, test := range tests {
		node := test.node
		path := kubetest.Kubeconfig(t, test.config)
		config, err := clientcmd.BuildConfigFromFlags("", path)
		if err != nil {
			t.Fatal(err)
		}
		c := client(t, config)
		if _, err := c.CoreV1().Nodes().Get(t.Context(), "bound", metav1.GetOptions{}); err != nil {
			t.Errorf("bound to %q: get a node: %v", node, err)
		}
		if err := c.CoreV1().Nodes().Delete(t.Context(), "bound", metav1.DeleteOptions{}); !apierrors.IsForbidden(err) {
			t.Errorf("bound to %q: delete a node: %v, want forbidden", node, err)
		}
		me, err := c.AuthenticationV1().SelfSubjectReviews().Create(t.Context(), &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		claim := strings.Join(me.Status.UserInfo.Extra["authentication.kubernetes.io/node-name"], ",")
		if claim != node {
			t.Errorf("bound to %q: the token's node claim is %q", node, claim)
		}
	}
}

func TestManifestsAreCheckedStrictly(t *testing.T) {
	cluster := shared.Cluster(t)
	tests := []struct{ name, manifest, want string }{
		{"unknown field", "{apiVersion: v1, kind: ConfigMap, metadata: {name: m, namespace: default}, dada: {}}", "dada"},
		{"doubled field", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: m, namespace: default}\ndata: {a: b}\ndata: {a: c}\n", "data"},
		{"unknown kind", "{apiVersion: v1, kind: ConfigMop, metadata: {name: m, namespace: default}}", "ConfigMop"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			err := cluster.DryRun(t.Context(), []byte(test.manifest))
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want an error that names %s", err, test.want)
			}
		})
	}
}

func TestDryRunWritesNothing(t *testing.T) {
	cluster := shared.Cluster(t)
	manifest := "{apiVersion: v1, kind: ConfigMap, metadata: {name: dry, namespace: default}, data: {a: b}}"
	if err := cluster.DryRun(t.Context(), []byte(manifest)); err != nil {
		t.Fatal(err)
	}
	_, err := client(t, cluster.Admin()).CoreV1().ConfigMaps("default").Get(t.Context(), "dry", metav1.GetOptions{})
	if !apierrors.IsNotFound(err) {
		t.Errorf("after a dry run: %v, want not found", err)
	}
}
