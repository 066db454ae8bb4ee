// Package deploy holds the manifests, and these tests of them against a real
// API server.
package deploy

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/gpuhealthd/gpuhealthd/test/golden"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/gpuhealthd/gpuhealthd/test/kubetest"
)

const manifest = "daemonset.yaml"

var (
	account = types.NamespacedName{Namespace: "gpuhealthd", Name: "gpuhealthd"}

	shared kubetest.Shared
)

func TestMain(m *testing.M) {
	defer shared.Stop()
	m.Run()
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

// createNamespace makes the manifest's namespace for real: a dry run leaves
// none behind for the objects that live in it.
func createNamespace(t *testing.T, cluster *kubetest.Cluster) {
	t.Helper()
	namespace := "{apiVersion: v1, kind: Namespace, metadata: {name: " + account.Namespace + "}}"
	if err := cluster.Apply(t.Context(), []byte(namespace)); err != nil {
		t.Fatal(err)
	}
}

func TestManifestIsAcceptedStrictly(t *testing.T) {
	cluster := shared.Cluster(t)
	createNamespace(t, cluster)
	if err := cluster.DryRun(t.Context(), read(t, manifest)); err != nil {
		t.Error(err)
	}
}

func TestServiceAccountMayDoWhatTheAgentDoes(t *testing.T) {
	cluster := shared.Cluster(t)
	if err := cluster.Apply(t.Context(), read(t, manifest)); err != nil {
		t.Fatal(err)
	}
	cluster.AwaitAllowed(t, account, authorizationv1.ResourceAttributes{Verb: "get", Resource: "nodes"})
	cluster.AwaitAllowed(t, account, authorizationv1.ResourceAttributes{
		Verb: "create", Group: "events.k8s.io", Resource: "events", Namespace: "default",
	})

	tests := []struct {
		resource authorizationv1.ResourceAttributes
		verbs    string
	}{
		{resource("", "nodes", ""), "get list watch patch"},
		{resource("", "nodes/status", ""), "patch"},
		{resource("", "nodes/proxy", ""), ""},
		{resource("events.k8s.io", "events", "default"), "create"},
		{resource("events.k8s.io", "events", "kube-system"), ""},
		{resource("", "events", "default"), ""},
		{resource("", "pods", ""), ""},
		{resource("", "pods/eviction", "default"), ""},
		{resource("", "secrets", "gpuhealthd"), ""},
		{resource("", "configmaps", "gpuhealthd"), ""},
		{resource("", "serviceaccounts/token", "gpuhealthd"), ""},
		{resource("coordination.k8s.io", "leases", "gpuhealthd"), "get create update"},
		{resource("apps", "daemonsets", "gpuhealthd"), ""},
		{resource("rbac.authorization.k8s.io", "clusterroles", ""), ""},
	}
	every := []string{"get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"}
	for _, test := range tests {
		may := strings.Fields(test.verbs)
		for _, verb := range every {
			what := test.resource
			what.Verb = verb
			allowed, err := cluster.Allowed(t.Context(), account, what)
			if err != nil {
				t.Fatal(err)
			}
			if want := slices.Contains(may, verb); allowed != want {
				t.Errorf("%s %s/%s in namespace %q: allowed %t, want %t",
					verb, what.Group, what.Resource, what.Namespace, allowed, want)
			}
		}
	}
}

// resource names a resource, or with a slash one of its subresources.
func resource(group, name, namespace string) authorizationv1.ResourceAttributes {
	name, sub, _ := strings.Cut(name, "/")
	return authorizationv1.ResourceAttributes{Group: group, Resource: name, Subresource: sub, Namespace: namespace}
}

// TestDaemonSetDependsOnNoOperator reads the object as the API server stores it.
func TestDaemonSetDependsOnNoOperator(t *testing.T) {
	cluster := shared.Cluster(t)
	if err := cluster.Apply(t.Context(), read(t, manifest)); err != nil {
		t.Fatal(err)
	}
	client, err := kubernetes.NewForConfig(cluster.Admin())
	if err != nil {
		t.Fatal(err)
	}
	set, err := client.AppsV1().DaemonSets(account.Namespace).Get(t.Context(), "gpuhealthd", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	pod := set.Spec.Template.Spec
	if len(pod.NodeSelector) > 0 || pod.Affinity != nil {
		t.Errorf("runs only on some nodes: nodeSelector %v, affinity %v", pod.NodeSelector, pod.Affinity)
	}
	if pod.RuntimeClassName != nil {
		t.Errorf("needs runtime class %s", *pod.RuntimeClassName)
	}
	for name := range pod.Containers[0].Resources.Limits {
		if name != corev1.ResourceCPU && name != corev1.ResourceMemory {
			t.Errorf("needs resource %s", name)
		}
	}
	if !slices.Contains(pod.Tolerations, corev1.Toleration{Operator: corev1.TolerationOpExists}) {
		t.Errorf("does not tolerate every taint: %v", pod.Tolerations)
	}
}

// configBlock is the ConfigMap's one key with its indented text.
var configBlock = regexp.MustCompile(`(?m)^  config\.yaml: \|\n((?:    .*\n|\n)*)`)

func TestConfigMapIsTheDefaultConfig(t *testing.T) {
	config := string(read(t, "../packaging/config.yaml"))
	text := string(read(t, manifest))
	if golden.Update() {
		text = configBlock.ReplaceAllLiteralString(text, "  config.yaml: |\n"+indent(config))
		if err := os.WriteFile(manifest, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	block := configBlock.FindStringSubmatch(text)
	if block == nil {
		t.Fatalf("%s has no config.yaml in its ConfigMap", manifest)
	}
	if block[1] != indent(config) {
		t.Errorf("the ConfigMap differs from packaging/config.yaml; go test ./deploy -update copies it")
	}
}

// indent puts text under a key of the second level; an empty line stays empty.
func indent(text string) string {
	return regexp.MustCompile(`(?m)^(.)`).ReplaceAllString(text, "    $1")
}
