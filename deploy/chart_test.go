package deploy

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/gpuhealthd/gpuhealthd/remediate"
)

// values are those of a chart, as YAML has them.
type values map[string]any

// helm is what Helm makes of the chart, or its complaint.
func helm(t *testing.T, v values) (rendered []byte, complaint string) {
	t.Helper()
	text, err := yaml.Marshal(v)
	must(t, err)
	file := filepath.Join(t.TempDir(), "values.yaml")
	must(t, os.WriteFile(file, text, 0o600))
	return external(t, "render", "chart", file)
}

// chart is what Helm makes of the chart, which has to be something.
func chart(t *testing.T, v values) []byte {
	t.Helper()
	text, complaint := helm(t, v)
	if complaint != "" {
		t.Fatal(complaint)
	}
	return text
}

// objects are those of manifests, by kind and name. A manifest may say fields in another
// order, and so may a pod its volumes, mounts and variables, none of which refers to
// another.
func objects(t *testing.T, manifests ...[]byte) map[string]any {
	t.Helper()
	all := map[string]any{}
	for _, manifest := range manifests {
		for document := range strings.SplitSeq("\n"+string(manifest), "\n---\n") {
			var o unstructured.Unstructured
			must(t, yaml.Unmarshal([]byte(document+"\n"), &o.Object))
			if len(o.Object) == 0 {
				continue
			}
			key := strings.Join([]string{o.GetKind(), o.GetNamespace(), o.GetName()}, "/")
			if all[key] != nil {
				t.Errorf("%s is there twice", key)
			}
			sortByName(o.Object)
			all[key] = o.Object
		}
	}
	return all
}

// sortByName puts the lists of what a pod has into one order.
func sortByName(o any) {
	switch o := o.(type) {
	case map[string]any:
		for key, field := range o {
			if list, ok := field.([]any); ok && slices.Contains([]string{"volumes", "volumeMounts", "env"}, key) {
				slices.SortFunc(list, func(a, b any) int {
					return strings.Compare(a.(map[string]any)["name"].(string), b.(map[string]any)["name"].(string))
				})
			}
			sortByName(field)
		}
	case []any:
		for _, item := range o {
			sortByName(item)
		}
	}
}

// TestTheChartIsTheManifests: what can be had by kubectl can be had by Helm, object by
// object.
func TestTheChartIsTheManifests(t *testing.T) {
	const (
		serves = "serving: {enabled: true}\n"
		forces = "mode: repair\nrepair: {drain: {atDeadline: force}}\n"
	)
	overlay := func(name string) values {
		return values{"config": string(read(t, filepath.Join("overlays", name, "config.yaml"))), "admission": true}
	}
	forced := objects(t, render(t, "repair"), read(t, "repair-force.yaml"))
	setConfig(forced, forces)
	policy := forced["ConfigMap/gpuhealthd/gpuhealthd-admission"].(map[string]any)
	policy["data"].(map[string]any)["operands"] = "false" // nothing is reset
	serving := objects(t, read(t, manifest), read(t, "serving.yaml"))
	setConfig(serving, serves)
	for name, c := range map[string]struct {
		values values
		want   map[string]any
	}{
		"nothing set":        {nil, objects(t, read(t, manifest))},
		"admission":          {values{"admission": true}, objects(t, read(t, manifest), read(t, "admission.yaml"))},
		"overlays/observe":   {overlay("observe"), objects(t, render(t, "observe"))},
		"overlays/repair":    {overlay("repair"), objects(t, render(t, "repair"))},
		"repair-force.yaml":  {values{"config": forces, "admission": true}, forced},
		"serving.yaml":       {values{"config": serves}, serving},
		"podmonitor.yaml":    {values{"podMonitor": values{"enabled": true}}, objects(t, read(t, manifest), read(t, "podmonitor.yaml"))},
		"runtime-class.yaml": {values{"runtimeClassName": "nvidia"}, withPatch(t, "runtime-class.yaml")},
		"driver-root.yaml":   {values{"driverRoot": "/run/nvidia/driver"}, withPatch(t, "driver-root.yaml")},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, objects(t, chart(t, c.values))); diff != "" {
				t.Errorf("the chart differs (-manifests +chart):\n%s", diff)
			}
		})
	}
}

// setConfig gives the agents among objects another configuration.
func setConfig(objects map[string]any, config string) {
	objects["ConfigMap/gpuhealthd/gpuhealthd"].(map[string]any)["data"] = map[string]any{"config.yaml": config}
}

// withPatch is the manifest with a patch of its DaemonSet.
func withPatch(t *testing.T, patch string) map[string]any {
	t.Helper()
	const key = "DaemonSet/gpuhealthd/gpuhealthd"
	all := objects(t, read(t, manifest))
	plain, err := json.Marshal(all[key])
	must(t, err)
	maps.Copy(all, objects(t, patched(t, plain, patch)))
	return all
}

// TestTheChartsValuesReachThePod that are in no manifest.
func TestTheChartsValuesReachThePod(t *testing.T) {
	text := chart(t, values{
		"image": values{"repository": "registry.example.com/gpuhealthd", "tag": "1.2.3",
			"pullSecrets": []values{{"name": "registry"}}},
		"nodeSelector":      values{"example.com/gpu": "true"},
		"tolerations":       []values{{"key": "example.com/gpu", "operator": "Exists", "effect": "NoSchedule"}},
		"resources":         values{"limits": values{"cpu": 2, "memory": "1Gi"}},
		"priorityClassName": "gold",
		"podMonitor":        values{"enabled": true, "labels": values{"release": "prometheus"}},
	})
	var set appsv1.DaemonSet
	find(t, text, "DaemonSet", "gpuhealthd", &set)
	pod := set.Spec.Template.Spec
	limits := pod.Containers[0].Resources.Limits
	got := []any{pod.Containers[0].Image, pod.ImagePullSecrets, pod.NodeSelector, pod.Tolerations, pod.PriorityClassName,
		limits.Cpu().String(), limits.Memory().String(), len(pod.Containers[0].Resources.Requests)}
	want := []any{"registry.example.com/gpuhealthd:1.2.3", []corev1.LocalObjectReference{{Name: "registry"}},
		map[string]string{"example.com/gpu": "true"},
		[]corev1.Toleration{{Key: "example.com/gpu", Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoSchedule}},
		"gold", "2", "1Gi", 0}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the pod differs (-want +got):\n%s", diff)
	}
	monitor := objects(t, text)["PodMonitor/gpuhealthd/gpuhealthd"].(map[string]any)["metadata"].(map[string]any)
	if diff := cmp.Diff(map[string]any{"app.kubernetes.io/name": "gpuhealthd", "release": "prometheus"}, monitor["labels"]); diff != "" {
		t.Errorf("the PodMonitor's labels differ (-want +got):\n%s", diff)
	}
	digest := "sha256:" + strings.Repeat("0a", 32)
	find(t, chart(t, values{"image": values{"digest": digest}}), "DaemonSet", "gpuhealthd", &set)
	if image := set.Spec.Template.Spec.Containers[0].Image; image != "ghcr.io/gpuhealthd/gpuhealthd@"+digest {
		t.Errorf("image %s, want that of the digest", image)
	}
}

// TestTheChartsRightsFollowTheConfiguration as the agent itself reads it, defaults
// included.
func TestTheChartsRightsFollowTheConfiguration(t *testing.T) {
	for _, text := range []string{
		"# nothing\n",
		"mode: observe\nmodes: {xid-79: contain}\n",
		"mode: observe\nmodes: {xid-79: repair}\n",
		"mode:\nmodes:\nkubernetes:\nrepair: {drain: {atDeadline: }, reset: }\n",
		"mode: observe\nrepair: {drain: {atDeadline: force}, reset: {mode: command}}\n",
		"mode: repair\nrepair: {reset: {mode: command, pauseOperands: false}}\n",
		"mode: repair\nrepair: {reset: {mode: annotation}}\n",
		"mode: repair\nrepair: {reset: {mode: off}, drain: {atDeadline: force}}\n",
		"kubernetes: {keepFromAutoscaler: true}\nserving: {enabled: true}\n",
	} {
		manifest := chart(t, values{"config": text, "admission": true})
		c := configOf(t, manifest)
		repairs := c.Policy().Repairs()
		all := objects(t, manifest)
		got := map[string]bool{}
		for right, object := range map[string]string{"repair": "gpuhealthd-repair", "force": "gpuhealthd-repair-force", "serving": "gpuhealthd-serving"} {
			got[right] = all["ClusterRole//"+object] != nil
			if bound := all["ClusterRoleBinding//"+object] != nil; bound != got[right] {
				t.Errorf("%q: the role %s is there %t, its binding %t", text, object, got[right], bound)
			}
		}
		for key, value := range all["ConfigMap/gpuhealthd/gpuhealthd-admission"].(map[string]any)["data"].(map[string]any) {
			got[key] = value == "true"
		}
		if diff := cmp.Diff(map[string]bool{
			"cordon":      c.Mode != remediate.Observe || len(c.Modes) > 0,
			"repair":      repairs,
			"force":       repairs && c.Repair.Drain.AtDeadline == remediate.Force,
			"serving":     c.Serving.Enabled,
			"operands":    repairs && c.Repair.Reset.Mode == remediate.MeansCommand && c.Repair.Reset.PauseOperands,
			"autoscalers": c.Kubernetes.KeepFromAutoscaler,
		}, got); diff != "" {
			t.Errorf("%q: the rights differ (-want +got):\n%s", text, diff)
		}
	}
}

// TestTheChartRefuses what is mistyped, by its name.
func TestTheChartRefuses(t *testing.T) {
	for complaint, v := range map[string]values{
		"additional properties 'admision' not allowed":            {"admision": true},
		"at '/admission': got string, want boolean":               {"admission": "yes"},
		"at '/image': additional properties 'tga' not allowed":    {"image": values{"tga": "1"}},
		"at '/image/digest'":                                      {"image": values{"digest": "latest"}},
		"at '/config': got object, want string":                   {"config": values{"mode": "observe"}},
		"at '/podMonitor': additional properties 'enable'":        {"podMonitor": values{"enable": true}},
		"at '/tolerations/0': additional properties 'efect'":      {"tolerations": []values{{"efect": "NoSchedule"}}},
		"at '/resources': additional properties 'limit'":          {"resources": values{"limit": values{"cpu": 1}}},
		"at '/driverRoot'":                                        {"driverRoot": "run/nvidia/driver"},
		"config is not YAML":                                      {"config": "mode: [\n"},
		"config: mode drain is not observe, contain or repair":    {"config": "mode: drain\n"},
		"config: mode reboot is not observe, contain or repair":   {"config": "modes: {xid-79: reboot}\n"},
		"at '/nodeSelector/example.com~1gpu': got boolean, want ": {"nodeSelector": values{"example.com/gpu": true}},
	} {
		if _, got := helm(t, v); !strings.Contains(got, complaint) {
			t.Errorf("%v: Helm says %q, want %q", v, got, complaint)
		}
	}
}

// TestTheChartIsAcceptedStrictly by the API server, with nothing set and with all that it
// knows; the kind PodMonitor is not the API server's.
func TestTheChartIsAcceptedStrictly(t *testing.T) {
	cluster := shared.Cluster(t)
	createNamespace(t, cluster)
	for name, v := range map[string]values{"nothing set": nil, "all": {
		"image":            values{"pullSecrets": []values{{"name": "registry"}}},
		"config":           "mode: repair\nrepair: {drain: {atDeadline: force}}\nserving: {enabled: true}\n",
		"admission":        true,
		"runtimeClassName": "nvidia",
		"driverRoot":       "/",
		"nodeSelector":     values{"example.com/gpu": "true"},
	}} {
		if err := cluster.DryRun(t.Context(), chart(t, v)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
