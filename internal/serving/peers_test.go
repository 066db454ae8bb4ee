package serving

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gpuhealthd/gpuhealthd/remediate/pods"
	"github.com/gpuhealthd/gpuhealthd/serving"
)

// follow begins to follow the groups; await returns when they are told so.
func (b *bench) follow(before ...serving.Group) (await func(want string)) {
	ctx, stop := context.WithCancel(context.Background())
	out, done := make(chan serving.Company, 1000), make(chan error, 1)
	go func() { done <- b.serving.Follow(ctx, before, func(c serving.Company) { out <- c }) }()
	b.t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			b.t.Error(err)
		}
	})
	return func(want string) {
		b.t.Helper()
		last := "nothing"
		for limit := time.After(30 * time.Second); ; {
			select {
			case c := <-out:
				if last = strings.ReplaceAll(toldGroups(c), b.name+"/", ""); last == want {
					return
				}
			case <-limit:
				b.t.Fatalf("told last:\n%s\nwant:\n%s", last, want)
			}
		}
	}
}

// toldGroups is what groups say, one line each, and who else says that he was left.
func toldGroups(c serving.Company) string {
	var lines []string
	if c.Off {
		lines = append(lines, "off")
	}
	for _, w := range c.Strays {
		lines = append(lines, fmt.Sprintf("%s says %q, degraded %t", w.Name, w.Marked, w.Degraded))
	}
	for _, g := range c.Groups {
		line := g.Name + ":"
		for _, w := range g.Here {
			line += fmt.Sprintf(" %s on %v,", w.Name, w.GPUs)
		}
		for _, role := range []serving.Role{serving.Prefill, serving.Decode} {
			if peers, known := g.Peers[role]; known {
				line += " " + string(role)
				for _, w := range peers {
					line += fmt.Sprintf(" %s(%s)", w.Name, w.Life)
				}
			}
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}

// of puts a pod into a group, in a role.
func of(group, role string) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		pod.Labels = map[string]string{"llm-d.ai/role": role, "llm-d.ai/model": group}
	}
}

// far puts a pod onto another node.
func far(pod *corev1.Pod) { pod.Spec.NodeName = "far-away" }

// TestFollow: a node hears of the prefill workers of its decode workers' groups, and of
// nobody else.
func TestFollow(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.start()
	await := b.follow()
	await("")
	prefill := b.pod("p-0", nil, of("m", "prefill"), far)
	b.pod("p-else", nil, of("n", "prefill"), far)
	b.pod("d-far", nil, of("m", "decode"), far)
	decode := b.pod("d-0", nil, of("m", "decode"))
	b.kubelet.Give(b.name, "d-0", resource, "GPU-0")
	await("m: d-0 on [GPU-0], prefill p-0(engine:0:p-0)")
	if namespace, selector, found := b.serving.Peers(string(decode.UID)); !found || namespace != b.name || selector != "llm-d.ai/model in (m),llm-d.ai/role in (decode)" {
		t.Errorf("it takes turns with %q in %q, %t", selector, namespace, found)
	}
	if _, _, found := b.serving.Peers(string(prefill.UID)); found {
		t.Error("a pod of another node takes turns here")
	}

	prefill.Status.ContainerStatuses = []corev1.ContainerStatus{container("engine", "containerd://anew", 1, true)}
	b.status(prefill)
	await("m: d-0 on [GPU-0], prefill p-0(engine:1:anew)")
	now := int64(0)
	gone := func(name string) {
		t.Helper()
		if err := b.admin.CoreV1().Pods(b.name).Delete(t.Context(), name, metav1.DeleteOptions{GracePeriodSeconds: &now}); err != nil {
			t.Fatal(err)
		}
	}
	gone("p-0")
	await("m: d-0 on [GPU-0], prefill")
	b.pod("p-1", nil, of("m", "prefill"))
	b.kubelet.Give(b.name, "p-1", resource, "GPU-1")
	await("m: d-0 on [GPU-0], p-1 on [GPU-1], prefill p-1(engine:0:p-1) decode d-0(engine:0:d-0) d-far(engine:0:d-far)")
	gone("d-0")
	gone("p-1")
	await("")
}

// TestStrays: a pod that was left once says so, and is in no group any more.
func TestStrays(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.serving.options.Disaggregated = nil
	await := b.follow()
	await("off")
	b.start()
	says := func() map[string]string { return map[string]string{pods.AnnotationStale: "since ever"} }
	pod := b.pod("d-0", says(), of("m", "decode"), left)
	b.pod("d-far", says(), of("m", "decode"), far)
	b.kubelet.Give(b.name, "d-0", resource, "GPU-0")
	await("off\nd-0 says \"since ever\", degraded true")
	pod.Annotations = nil
	if _, err := b.admin.CoreV1().Pods(b.name).Update(t.Context(), pod, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	await("off")
}

// TestAside: a worker whose labels somebody changes is not gone, whoever has seen that.
func TestAside(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	prefill := b.pod("p-0", nil, of("m", "prefill"), far)
	b.pod("d-0", nil, of("m", "decode"))
	b.kubelet.Give(b.name, "d-0", resource, "GPU-0")
	unlisted := b.pod("p-1", nil, far)
	was := serving.Group{Name: b.name + "/m", Peers: map[serving.Role][]serving.Worker{serving.Prefill: {
		{Name: b.name + "/p-1", UID: string(unlisted.UID), Life: "engine:0:p-1"}, {Name: b.name + "/p-1", UID: "another", Life: "engine:0:p-1"},
		{Name: b.name + "/p-2", UID: "gone", Life: "engine:0:p-2"}}}}
	b.start()
	await := b.follow(was)
	await("m: d-0 on [GPU-0], prefill p-0(engine:0:p-0) p-1(engine:0:p-1)")
	delete(prefill.Labels, "llm-d.ai/role")
	prefill, err := b.admin.CoreV1().Pods(b.name).Update(t.Context(), prefill, metav1.UpdateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	b.pod("p-3", nil, of("m", "prefill"), far)
	await("m: d-0 on [GPU-0], prefill p-0(engine:0:p-0) p-1(engine:0:p-1) p-3(engine:0:p-3)")
	prefill.Status.ContainerStatuses = []corev1.ContainerStatus{container("engine", "containerd://anew", 1, true)}
	b.status(prefill)
	await("m: d-0 on [GPU-0], prefill p-0(engine:1:anew) p-1(engine:0:p-1) p-3(engine:0:p-3)")
	now := int64(0)
	for _, name := range []string{"p-0", "p-1"} {
		if err := b.admin.CoreV1().Pods(b.name).Delete(t.Context(), name, metav1.DeleteOptions{GracePeriodSeconds: &now}); err != nil {
			t.Fatal(err)
		}
	}
	await("m: d-0 on [GPU-0], prefill p-3(engine:0:p-3)")
}
