package deploy

import (
	"fmt"
	"slices"
	"testing"

	monitoring "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"sigs.k8s.io/yaml"
)

// daemonSet is the manifest's, with a patch or none.
func daemonSet(t *testing.T, patch string) (set appsv1.DaemonSet) {
	t.Helper()
	find(t, read(t, manifest), "DaemonSet", "gpuhealthd", &set)
	if patch == "" {
		return set
	}
	plain, err := yaml.Marshal(set)
	must(t, err)
	plain, err = yaml.YAMLToJSON(plain)
	must(t, err)
	var out appsv1.DaemonSet
	must(t, yaml.UnmarshalStrict(patched(t, plain, patch), &out))
	return out
}

// patched is a DaemonSet in JSON, with a patch as kubectl patch applies it.
func patched(t *testing.T, set []byte, patch string) []byte {
	t.Helper()
	change, err := yaml.YAMLToJSON(read(t, patch))
	must(t, err)
	out, err := strategicpatch.StrategicMergePatch(set, change, appsv1.DaemonSet{})
	must(t, err)
	return out
}

// TestTheDriverReachesThePod in two ways; that the second is enough is shown by the image,
// in test/image.
func TestTheDriverReachesThePod(t *testing.T) {
	plain := daemonSet(t, "").Spec.Template.Spec
	for _, name := range []string{"NVIDIA_VISIBLE_DEVICES", "NVIDIA_DRIVER_CAPABILITIES"} {
		if !slices.ContainsFunc(plain.Containers[0].Env, func(e corev1.EnvVar) bool { return e.Name == name && e.Value != "" }) {
			t.Errorf("NVIDIA's runtime would not know of the pod without %s", name)
		}
	}
	if class := daemonSet(t, "runtime-class.yaml").Spec.Template.Spec.RuntimeClassName; class == nil || *class != "nvidia" {
		t.Errorf("runtime class %v", class)
	}
	mounted := daemonSet(t, "driver-root.yaml").Spec.Template.Spec
	if got, want := len(mounted.Containers[0].VolumeMounts), len(plain.Containers[0].VolumeMounts)+1; got != want {
		t.Errorf("%d mounts, want %d", got, want)
	}
	cluster := shared.Cluster(t)
	createNamespace(t, cluster)
	for _, patch := range []string{"runtime-class.yaml", "driver-root.yaml"} {
		set := daemonSet(t, patch)
		set.TypeMeta = metav1.TypeMeta{APIVersion: "apps/v1", Kind: "DaemonSet"}
		text, err := yaml.Marshal(set)
		must(t, err)
		if err := cluster.DryRun(t.Context(), text); err != nil {
			t.Errorf("%s: %v", patch, err)
		}
	}
}

// TestThePodIsScraped by the operator's Prometheus and by annotation, at the port and
// under the labels that the alerts take for granted.
func TestThePodIsScraped(t *testing.T) {
	var m monitoring.PodMonitor
	must(t, yaml.UnmarshalStrict(read(t, "podmonitor.yaml"), &m))
	set := daemonSet(t, "")
	pod := set.Spec.Template
	selector, err := metav1.LabelSelectorAsSelector(&m.Spec.Selector)
	must(t, err)
	if m.Namespace != set.Namespace || selector.Empty() || !selector.Matches(labels.Set(pod.Labels)) {
		t.Errorf("it does not select the pods: namespace %s, %s", m.Namespace, selector)
	}
	endpoint := m.Spec.PodMetricsEndpoints[0]
	for _, label := range []string{"job", "node"} {
		if !slices.ContainsFunc(endpoint.RelabelConfigs, func(r monitoring.RelabelConfig) bool { return r.TargetLabel == label }) {
			t.Errorf("the alerts want the label %s", label)
		}
	}
	ports := pod.Spec.Containers[0].Ports
	at := slices.IndexFunc(ports, func(p corev1.ContainerPort) bool { return p.Name == *endpoint.Port })
	if at < 0 {
		t.Fatalf("the pod has no port %s", *endpoint.Port)
	}
	listen := configOf(t, read(t, manifest)).HTTP.Listen
	if number := fmt.Sprint(ports[at].ContainerPort); listen != ":"+number || pod.Annotations["prometheus.io/port"] != number {
		t.Errorf("the agent listens at %s, port %s is %s, and the annotation says %s", listen, *endpoint.Port, number, pod.Annotations["prometheus.io/port"])
	}
}
