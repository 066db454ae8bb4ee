package fleet

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/gpuhealthd/gpuhealthd/fault"
	"github.com/gpuhealthd/gpuhealthd/remediate"
	"github.com/gpuhealthd/gpuhealthd/remediate/apiserver"
	"github.com/gpuhealthd/gpuhealthd/remediate/guard"
	"github.com/gpuhealthd/gpuhealthd/test/kubetest"
)

// shared is the real API server of all tests here.
var shared kubetest.Shared

func TestMain(m *testing.M) {
	defer shared.Stop()
	m.Run()
}

// calls counts what went over the wire.
type calls struct {
	mu   sync.Mutex
	seen []string
}

func (c *calls) observe(verb, resource, _ string, _ time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.seen = append(c.seen, verb+" "+resource)
}

// take gives what was called since the last time.
func (c *calls) take() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := strings.Join(c.seen, ", ")
	c.seen = nil
	return all
}

// asker asks for one node, as the agent's account may.
type asker struct {
	*Fleet
	calls calls
}

func newAsker(t *testing.T, config *rest.Config, node string, change func(*Options)) *asker {
	t.Helper()
	a := &asker{}
	client, err := apiserver.New(config, a.calls.observe)
	if err != nil {
		t.Fatal(err)
	}
	o := Options{Node: node, Client: client, Rules: guard.Default(), Namespace: metav1.NamespaceDefault, Label: "pool"}
	if change != nil {
		change(&o)
	}
	if a.Fleet, err = New(o); err != nil {
		t.Fatal(err)
	}
	return a
}

// peers are Nodes of one pool, named after it: the first n in service.
func peers(t *testing.T, cluster *kubetest.Cluster, pool string, n int) (names []string) {
	t.Helper()
	for k := range n {
		name := fmt.Sprintf("%s-%d", pool, k)
		cluster.CreateNode(t, name)
		label(t, cluster, name, map[string]string{"pool": pool, remediate.LabelState: string(remediate.Healthy)})
		names = append(names, name)
	}
	return names
}

// label has the agent of a Node say something there: labels, and whether by leave.
func label(t *testing.T, cluster *kubetest.Cluster, node string, labels map[string]string) {
	t.Helper()
	note := "null"
	if labels["leave"] != "" {
		note = `"{\"id\":\"x\",\"leave\":true}"`
		delete(labels, "leave")
	}
	var pairs []string
	for key, value := range labels {
		pairs = append(pairs, fmt.Sprintf("%q:%q", key, value))
	}
	since := time.Now().UTC().Format(time.RFC3339)
	patch := fmt.Sprintf(`{"metadata":{"labels":{%s},"annotations":{%q:%s,%q:%q}}}`, strings.Join(pairs, ","), remediate.NoteAnnotation, note, remediate.SinceAnnotation, since)
	_, err := kubernetes.NewForConfigOrDie(cluster.Admin()).CoreV1().Nodes().
		Patch(t.Context(), node, types.MergePatchType, []byte(patch), metav1.PatchOptions{FieldManager: apiserver.Manager})
	if err != nil {
		t.Fatal(err)
	}
}

// want is one ask.
func want(class fault.Class, action guard.Action, hard bool) []guard.Ask {
	return []guard.Ask{{Incident: "b-1", Class: class, Action: action, Hard: hard, Out: hard, Since: time.Now().Add(-time.Hour)}}
}

// said is what an answer comes to: granted, or by whom it is held and why.
func said(a remediate.Reply) string {
	var words []string
	for _, g := range a.Granted {
		words = append(words, "granted "+string(g.Action))
	}
	for _, r := range a.Held {
		for _, h := range r.Holds {
			words = append(words, fmt.Sprintf("%s held by %s: %s", r.Action, h.Guard, h.Why))
		}
	}
	return strings.Join(words, "; ")
}

// rights are those of the agent that its group needs.
const rights = `
apiVersion: v1
kind: ServiceAccount
metadata: {name: %[1]s, namespace: default}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: %[1]s}
rules:
- {apiGroups: [""], resources: [nodes], verbs: [get, list, patch]}
- {apiGroups: [""], resources: [nodes/status], verbs: [patch]}
- {apiGroups: [coordination.k8s.io], resources: [leases], verbs: [get, create, update]}
- {apiGroups: [""], resources: [configmaps], verbs: [get]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: %[1]s}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: %[1]s}
subjects: [{kind: ServiceAccount, name: %[1]s, namespace: default}]
`

// account makes a service account with the rights.
func account(t *testing.T, cluster *kubetest.Cluster, name string) types.NamespacedName {
	t.Helper()
	if err := cluster.Apply(t.Context(), fmt.Appendf(nil, rights, name)); err != nil {
		t.Fatal(err)
	}
	key := types.NamespacedName{Namespace: metav1.NamespaceDefault, Name: name}
	cluster.AwaitAllowed(t, key, authorizationv1.ResourceAttributes{Verb: "update", Group: "coordination.k8s.io", Resource: "leases", Namespace: "default"})
	return key
}

// deployed is the agent's own account, with all that deploy/ has for it.
func deployed(t *testing.T, cluster *kubetest.Cluster) types.NamespacedName {
	t.Helper()
	for _, name := range []string{"daemonset.yaml", "admission.yaml"} {
		manifest, err := os.ReadFile(filepath.Join("..", "..", "deploy", name))
		if err != nil {
			t.Fatal(err)
		}
		if err := cluster.Apply(t.Context(), manifest); err != nil {
			t.Fatal(err)
		}
	}
	key := types.NamespacedName{Namespace: "gpuhealthd", Name: "gpuhealthd"}
	cluster.AwaitAllowed(t, key, authorizationv1.ResourceAttributes{Verb: "update", Group: "coordination.k8s.io", Resource: "leases", Namespace: key.Namespace})
	cluster.AwaitAllowed(t, key, authorizationv1.ResourceAttributes{Verb: "patch", Resource: "nodes"})
	stranger := cluster.CreateNode(t, "stranger")
	stray := kubernetes.NewForConfigOrDie(cluster.ServiceAccount(t, key, ""))
	kubetest.AwaitForbidden(t, "a write by a token of no node", func(ctx context.Context) error {
		_, err := stray.CoreV1().Nodes().Patch(ctx, stranger.Name, types.MergePatchType, []byte(`{"spec":{"unschedulable":true}}`), metav1.PatchOptions{})
		return err
	})
	return key
}
