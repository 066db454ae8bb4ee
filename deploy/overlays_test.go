package deploy

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/gpuhealthd/gpuhealthd/internal/config"
	"github.com/gpuhealthd/gpuhealthd/remediate"
)

// tools gives the paths of programs of tools/external, each built by the first that asks.
var tools = map[string]func() (string, error){"kustomize": tool("kustomize"), "render": tool("render")}

func tool(name string) func() (string, error) {
	return sync.OnceValues(func() (string, error) {
		cmd := exec.Command("go", "-C", "../tools/external", "tool", "-n", name)
		cmd.Stderr = os.Stderr
		path, err := cmd.Output()
		return strings.TrimSpace(string(path)), err
	})
}

// external runs one of these programs, and gives what it says, or why it failed.
func external(t *testing.T, name string, args ...string) (output []byte, complaint string) {
	t.Helper()
	tool, err := tools[name]()
	must(t, err)
	var stderr strings.Builder
	cmd := exec.Command(tool, args...)
	cmd.Stderr = &stderr
	if output, err = cmd.Output(); err != nil {
		return nil, fmt.Sprintf("%s: %v: %s", name, err, stderr.String())
	}
	return output, ""
}

// render is an overlay as kubectl makes it, whose kustomize this is.
func render(t *testing.T, overlay string) []byte {
	t.Helper()
	text, complaint := external(t, "kustomize", "build", "--load-restrictor", "LoadRestrictionsNone", filepath.Join("overlays", overlay))
	if complaint != "" {
		t.Fatal(complaint)
	}
	return text
}

// find decodes the object of a kind and name among the documents of a manifest.
func find(t *testing.T, manifest []byte, kind, name string, into any) {
	t.Helper()
	for _, document := range bytes.Split(manifest, []byte("\n---\n")) {
		var head metav1.PartialObjectMetadata
		must(t, yaml.Unmarshal(document, &head))
		if head.Kind == kind && head.Name == name {
			must(t, yaml.UnmarshalStrict(document, into))
			return
		}
	}
	t.Fatalf("there is no %s %s", kind, name)
}

// configOf is the agent's configuration in a manifest.
func configOf(t *testing.T, manifest []byte) config.Config {
	t.Helper()
	var file corev1.ConfigMap
	find(t, manifest, "ConfigMap", "gpuhealthd", &file)
	path := filepath.Join(t.TempDir(), "config.yaml")
	must(t, os.WriteFile(path, []byte(file.Data["config.yaml"]), 0o600))
	c, err := config.Load(path)
	must(t, err)
	return c
}

// TestThePolicyAllowsWhatTheConfigurationDoes in each mode, and no more.
func TestThePolicyAllowsWhatTheConfigurationDoes(t *testing.T) {
	plain := slices.Concat(read(t, manifest), []byte("\n---\n"), read(t, "admission.yaml"))
	for mode, manifest := range map[remediate.Mode][]byte{
		remediate.Contain: plain, remediate.Observe: render(t, "observe"), remediate.Repair: render(t, "repair"),
	} {
		c := configOf(t, manifest)
		if c.Mode != mode {
			t.Errorf("%s: the configuration says %s", mode, c.Mode)
		}
		var allowed corev1.ConfigMap
		find(t, manifest, "ConfigMap", "gpuhealthd-admission", &allowed)
		for key, want := range map[string]bool{
			"cordon":      c.Mode != remediate.Observe,
			"operands":    c.Mode == remediate.Repair && c.Repair.Reset.Mode == remediate.MeansCommand && c.Repair.Reset.PauseOperands,
			"autoscalers": c.Kubernetes.KeepFromAutoscaler,
		} {
			if got := allowed.Data[key]; got != strconv.FormatBool(want) {
				t.Errorf("%s: gpuhealthd-admission says %s: %q, want %t", mode, key, got, want)
			}
		}
	}
}

func TestOverlaysAreAcceptedStrictly(t *testing.T) {
	cluster := shared.Cluster(t)
	createNamespace(t, cluster)
	for _, overlay := range []string{"observe", "repair"} {
		if err := cluster.DryRun(t.Context(), render(t, overlay)); err != nil {
			t.Errorf("%s: %v", overlay, err)
		}
	}
}

// TestThePodOfModeRepairHasWhatItNeeds goes by what docs/repair.md and the overlay's own
// configuration say.
func TestThePodOfModeRepairHasWhatItNeeds(t *testing.T) {
	manifest := render(t, "repair")
	c := configOf(t, manifest)
	var set appsv1.DaemonSet
	find(t, manifest, "DaemonSet", "gpuhealthd", &set)
	pod := set.Spec.Template.Spec
	container := pod.Containers[0]
	if !pod.HostPID || !*container.SecurityContext.Privileged {
		t.Errorf("hostPID %t, privileged %t: it can neither see who has a GPU open nor run the host's programs", pod.HostPID, *container.SecurityContext.Privileged)
	}
	if len(c.Repair.Host) == 0 {
		t.Error("nvidia-smi and systemctl would be those of the image")
	}
	for name, field := range map[string]string{"POD_NAME": "metadata.name", "POD_NAMESPACE": "metadata.namespace", "NODE_NAME": "spec.nodeName"} {
		if !slices.ContainsFunc(container.Env, func(e corev1.EnvVar) bool { return e.Name == name && e.ValueFrom.FieldRef.FieldPath == field }) {
			t.Errorf("%s is not %s", name, field)
		}
	}
	folder := filepath.Dir(c.Repair.Drain.KubeletSocket)
	at := slices.IndexFunc(container.VolumeMounts, func(m corev1.VolumeMount) bool { return m.MountPath == folder })
	if at < 0 {
		t.Fatalf("%s is not mounted", folder)
	}
	name := container.VolumeMounts[at].Name
	if !slices.ContainsFunc(pod.Volumes, func(v corev1.Volume) bool { return v.Name == name && v.HostPath != nil && v.HostPath.Path == folder }) {
		t.Errorf("volume %s is not the host's %s", name, folder)
	}
}
