package kube

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"sigs.k8s.io/yaml"

	"github.com/gpuhealthd/gpuhealthd/remediate"
	"github.com/gpuhealthd/gpuhealthd/test/kubetest"
)

// documented returns the pod of that name that docs/scheduling.md shows. Of a Job
// it is the one that the Job would make.
func documented(t *testing.T, name string) *corev1.Pod {
	t.Helper()
	text, err := os.ReadFile("../../docs/scheduling.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, block := range strings.Split(string(text), "```yaml\n")[1:] {
		manifest, _, _ := strings.Cut(block, "```")
		var found struct {
			Kind     string
			Metadata metav1.ObjectMeta
			Spec     json.RawMessage
		}
		if err := yaml.Unmarshal([]byte(manifest), &found); err != nil {
			t.Fatalf("%v in\n%s", err, manifest)
		}
		if found.Metadata.Name != name {
			continue
		}
		pod := &corev1.Pod{ObjectMeta: found.Metadata}
		spec := any(&pod.Spec)
		if found.Kind == "Job" {
			spec = &struct {
				Template struct{ Spec *corev1.PodSpec }
			}{struct{ Spec *corev1.PodSpec }{&pod.Spec}}
		}
		if err := json.Unmarshal(found.Spec, spec); err != nil {
			t.Fatal(err)
		}
		return pod
	}
	t.Fatalf("docs/scheduling.md shows no %q", name)
	return nil
}

// plain is a pod of somebody who has never heard of us.
func plain(gpus string) *corev1.Pod {
	limits := corev1.ResourceList{"nvidia.com/gpu": resource.MustParse(gpus)}
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "plain"},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{
			Name: "plain", Image: "example.com/plain:1", Resources: corev1.ResourceRequirements{Limits: limits},
		}}},
	}
}

// place is a Node that the scheduler may choose, as far as we let it.
func place(t *testing.T, cluster *kubetest.Cluster, name string, want remediate.Desired) *bench {
	t.Helper()
	cluster.CreateNode(t, name)
	b := with(t, cluster, name, cluster.Admin())
	b.edit(t, `{"metadata":{"labels":{"kubernetes.io/hostname":"`+name+`"}},"spec":{"taints":[]}}`)
	status := `{"status":{"allocatable":{"nvidia.com/gpu":"8","cpu":"64","memory":"256Gi","pods":"110"}}}`
	_, err := b.admin.CoreV1().Nodes().Patch(t.Context(), name, "application/merge-patch+json", []byte(status), metav1.PatchOptions{}, "status")
	if err != nil {
		t.Fatal(err)
	}
	b.apply(t, want)
	return b
}

// land creates the pod and returns the node that it is put on, or why on none.
func (b *bench) land(t *testing.T, pod *corev1.Pod) (node, why string) {
	t.Helper()
	pods := b.admin.CoreV1().Pods(metav1.NamespaceDefault)
	pod, err := pods.Create(t.Context(), pod, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	watch, err := pods.Watch(t.Context(), metav1.ListOptions{
		FieldSelector:   fields.OneTermEqualSelector(metav1.ObjectNameField, pod.Name).String(),
		ResourceVersion: pod.ResourceVersion,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer watch.Stop()
	for event := range watch.ResultChan() {
		now, ok := event.Object.(*corev1.Pod)
		if !ok {
			t.Fatalf("watch of pod %s: %v", pod.Name, event.Object)
		}
		if now.Spec.NodeName != "" {
			return now.Spec.NodeName, ""
		}
		for _, c := range now.Status.Conditions {
			if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse {
				return "", c.Message
			}
		}
	}
	t.Fatalf("the watch of pod %s ended", pod.Name)
	return "", ""
}

func (b *bench) remove(t *testing.T, pod string) {
	t.Helper()
	now := int64(0)
	err := b.admin.CoreV1().Pods(metav1.NamespaceDefault).Delete(t.Context(), pod, metav1.DeleteOptions{GracePeriodSeconds: &now})
	if err != nil {
		t.Fatal(err)
	}
}

// The real scheduler, our own labels, and the pods of our own documentation.
func TestPodsLandWhereTheLabelsSay(t *testing.T) {
	cluster := kubetest.Start(t) // no Node of another test is a place
	b := place(t, cluster, "gpu-healthy", healthy())
	place(t, cluster, "gpu-suspect", suspect("1"))
	place(t, cluster, "gpu-17", quarantined("2"))
	// Uncordoned a moment ago: only the taint is left to keep pods away.
	place(t, cluster, "gpu-tainted", quarantined("3")).edit(t, uncordon)
	cluster.StartScheduler(t)

	steps := []struct {
		name string
		pod  *corev1.Pod
		want string
		why  string // where it lands nowhere
		stay bool
	}{
		{name: "would rather not be on a suspect node", pod: documented(t, "serve"), want: "gpu-healthy"},
		{name: "no fault beside a multi-node job", pod: documented(t, "nvl72-worker"), want: "gpu-healthy"},
		{name: "only on a healthy node", pod: documented(t, "train"), want: "gpu-healthy", stay: true},
		{name: "on a suspect node rather than nowhere", pod: documented(t, "serve"), want: "gpu-suspect", stay: true},
		{name: "nowhere, knowing nothing of us", pod: plain("8"), why: "1 node(s) had untolerated taint(s), 1 node(s) were unschedulable"},
		{name: "on a quarantined node on purpose", pod: documented(t, "examine"), want: "gpu-17"},
	}
	for _, step := range steps {
		node, why := b.land(t, step.pod)
		if node != step.want || !strings.Contains(why, step.why) {
			t.Fatalf("%s: on %q (%s), want %q (%s)", step.name, node, why, step.want, step.why)
		}
		if !step.stay {
			b.remove(t, step.pod.Name)
		}
	}
}
