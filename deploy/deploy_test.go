// Package deploy holds the manifests, and these tests of them against a real
// API server.
package deploy

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"github.com/gpuhealthd/gpuhealthd/internal/config"
	"github.com/gpuhealthd/gpuhealthd/test/golden"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/gpuhealthd/gpuhealthd/test/kubetest"
)

const manifest = "daemonset.yaml"

var (
	account = types.NamespacedName{Namespace: "gpuhealthd", Name: "gpuhealthd"}

	// shared has no more than a test applies to it: rights add up, and other tests of
	// the package would see them.
	shared kubetest.Shared
)

func TestMain(m *testing.M) {
	defer shared.Stop()
	m.Run()
}

// apply applies manifests of this folder, in their order.
func apply(t *testing.T, cluster *kubetest.Cluster, paths ...string) {
	t.Helper()
	for _, path := range paths {
		if err := cluster.Apply(t.Context(), read(t, path)); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
	}
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

func TestManifestsAreAcceptedStrictly(t *testing.T) {
	cluster := shared.Cluster(t)
	createNamespace(t, cluster)
	for _, path := range []string{manifest, "admission.yaml", "repair.yaml", "repair-force.yaml", "serving.yaml"} {
		if err := cluster.DryRun(t.Context(), read(t, path)); err != nil {
			t.Errorf("%s: %v", path, err)
		}
	}
}

// TestDaemonSetDependsOnNoOperator reads the object as the API server stores it.
func TestDaemonSetDependsOnNoOperator(t *testing.T) {
	cluster := shared.Cluster(t)
	apply(t, cluster, manifest)
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

// TestThePodSeesWhichServicesRun: a fabric manager that was stopped, or died in a
// container, is in no log. The pod has the host's processes to read, and no more.
func TestThePodSeesWhichServicesRun(t *testing.T) {
	var set appsv1.DaemonSet
	find(t, read(t, manifest), "DaemonSet", "gpuhealthd", &set)
	pod := set.Spec.Template.Spec
	if pod.HostPID || pod.HostNetwork || pod.HostIPC {
		t.Error("the pod joins a namespace of the host")
	}
	hosts := map[string]string{}
	for _, v := range pod.Volumes {
		if v.HostPath != nil {
			hosts[v.Name] = v.HostPath.Path
		}
	}
	mounted := map[string]string{}
	for _, m := range pod.Containers[0].VolumeMounts {
		if m.ReadOnly {
			mounted[m.MountPath] = hosts[m.Name]
		}
	}
	at := slices.IndexFunc(pod.Containers[0].Env, func(e corev1.EnvVar) bool { return e.Name == "HOST_PROC" })
	if at < 0 || mounted[pod.Containers[0].Env[at].Value] != "/proc" {
		t.Errorf("HOST_PROC is not where the host's /proc is: %v", mounted)
	}
	if folder := filepath.Dir(config.Default().Repair.Drain.KubeletSocket); mounted[folder] != folder {
		t.Errorf("the kubelet cannot be asked which pods were given GPUs: %v", mounted)
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
