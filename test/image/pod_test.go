package image

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	k8syaml "sigs.k8s.io/yaml"

	"github.com/gpuhealthd/gpuhealthd/internal/config"
)

// daemonSet is the one in deploy/, with the driver's root mounted.
func daemonSet(t testing.TB) (set appsv1.DaemonSet) {
	t.Helper()
	text := document(t, "kind: DaemonSet")
	plain, err := k8syaml.YAMLToJSON(text)
	must(t, err)
	patch, err := os.ReadFile("../../deploy/driver-root.yaml")
	must(t, err)
	change, err := k8syaml.YAMLToJSON(patch)
	must(t, err)
	patched, err := strategicpatch.StrategicMergePatch(plain, change, set)
	must(t, err)
	must(t, json.Unmarshal(patched, &set))
	return set
}

// document is the part of the manifest that has a line.
func document(t testing.TB, line string) []byte {
	t.Helper()
	all, err := os.ReadFile("../../deploy/daemonset.yaml")
	must(t, err)
	parts := strings.Split(string(all), "\n---\n")
	at := slices.IndexFunc(parts, func(part string) bool { return strings.Contains(part, "\n"+line+"\n") })
	if at < 0 {
		t.Fatalf("the manifest has no %s", line)
	}
	return []byte(parts[at])
}

// writeConfig writes the ConfigMap's configuration for a simulated node into a folder:
// nobody is there to be told, and the GPUs are on no bus.
func writeConfig(t testing.TB, folder, bootID string) {
	t.Helper()
	var file corev1.ConfigMap
	must(t, k8syaml.Unmarshal(document(t, "kind: ConfigMap"), &file))
	c, err := config.Parse("the ConfigMap", []byte(file.Data["config.yaml"]))
	must(t, err)
	c.Actuator, c.Guards.Enabled = config.ActuatorLog, false
	c.KernelLog.BootIDPath, c.NVML.BusPath = bootID, ""
	c.HTTP.Listen = "127.0.0.1:0"
	text, err := yaml.Marshal(c)
	must(t, err)
	must(t, os.WriteFile(filepath.Join(folder, "config.yaml"), text, 0o600))
}

// kubelet turns the pod into what runc takes, as a kubelet does. Where a volume is on the
// simulated host, volumes says; it has to know all of them.
func kubelet(t testing.TB, bundle string, pod corev1.PodSpec, volumes map[string]string, env []string) {
	t.Helper()
	c := pod.Containers[0]
	path := filepath.Join(bundle, "config.json")
	text, err := os.ReadFile(path)
	must(t, err)
	var image struct {
		Process struct{ Args, Env []string }
	}
	must(t, json.Unmarshal(text, &image))
	for _, e := range c.Env {
		if e.Value != "" {
			env = append(env, e.Name+"="+e.Value)
		}
	}
	spec, err := json.Marshal(object{
		"ociVersion": "1.0.2",
		"process": object{
			"user": object{"uid": *c.SecurityContext.RunAsUser, "gid": 0}, "cwd": "/",
			"args": append(image.Process.Args, c.Args...), "env": append(image.Process.Env, env...),
			"capabilities": capabilities(*c.SecurityContext),
		},
		"root":   object{"path": "rootfs", "readonly": *c.SecurityContext.ReadOnlyRootFilesystem},
		"mounts": append(system, mounts(t, c, volumes)...),
		"linux": object{
			// The network is the host's: the test asks the agent over it.
			"namespaces": []object{{"type": "pid"}, {"type": "ipc"}, {"type": "uts"}, {"type": "mount"}},
			"resources":  resources(c),
		},
	})
	must(t, err)
	must(t, os.WriteFile(path, spec, 0o600))
}

type object = map[string]any

// system is what every container has mounted.
var system = []object{
	{"destination": "/proc", "type": "proc", "source": "proc"},
	{"destination": "/dev", "type": "tmpfs", "source": "tmpfs", "options": []string{"nosuid", "mode=755"}},
	{"destination": "/sys", "type": "sysfs", "source": "sysfs"},
}

func mounts(t testing.TB, c corev1.Container, volumes map[string]string) (all []object) {
	t.Helper()
	for _, m := range c.VolumeMounts {
		from, known := volumes[m.Name]
		if !known {
			t.Fatalf("the simulated host has no volume %s", m.Name)
		}
		options := []string{"rbind", "rw"}
		if m.ReadOnly {
			options[1] = "ro"
		}
		all = append(all, object{"destination": m.MountPath, "type": "bind", "source": from, "options": options})
	}
	folder := volumes[simulation]
	return append(all, object{"destination": folder, "type": "bind", "source": folder, "options": []string{"rbind", "rw"}})
}

// simulation is the volume of the simulated driver's state, which no manifest has.
const simulation = "simulation"

// capabilities are all those that there are for a privileged container, else those that
// are named.
func capabilities(s corev1.SecurityContext) object {
	var names []string
	switch {
	case *s.Privileged:
		names = strings.Fields(`CAP_CHOWN CAP_DAC_OVERRIDE CAP_DAC_READ_SEARCH CAP_FOWNER CAP_FSETID CAP_KILL
			CAP_SETGID CAP_SETUID CAP_SETPCAP CAP_NET_ADMIN CAP_SYS_MODULE CAP_SYS_PTRACE CAP_SYS_ADMIN CAP_SYS_BOOT
			CAP_MKNOD CAP_SYSLOG`)
	case s.Capabilities != nil:
		for _, name := range s.Capabilities.Add {
			names = append(names, "CAP_"+string(name))
		}
	}
	return object{"bounding": names, "effective": names, "permitted": names}
}

// resources are the limits of processor time and memory, and every device.
func resources(c corev1.Container) object {
	const period = 100_000 // the kubelet's, in µs
	return object{
		"devices": []object{{"allow": *c.SecurityContext.Privileged, "access": "rwm"}},
		"memory":  object{"limit": c.Resources.Limits.Memory().Value()},
		"cpu":     object{"period": period, "quota": c.Resources.Limits.Cpu().MilliValue() * period / 1000},
	}
}
