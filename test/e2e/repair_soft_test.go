package e2e

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gpuhealthd/gpuhealthd/test/daemontest"
	"github.com/gpuhealthd/gpuhealthd/test/process"
)

// TestARowRemapWaitsForTheJob: a soft fault bothers no job. Once that has ended, the
// node is closed, the GPU reset and the node back.
func TestARowRemapWaitsForTheJob(t *testing.T) {
	t.Parallel()
	h := inRepair(t)
	job, works := h.serve("job", 2)
	h.inService()
	seen := h.record()
	h.Must(h.Sim.Remap(h.GPU(2).UUID, "pending"))
	h.awaitState("suspect")
	h.looks(2)
	h.untouched(job)
	if n := h.object(); n.Spec.Unschedulable || len(h.resets()) > 0 {
		t.Errorf("cordoned %t and resets %v while the job runs", n.Spec.Unschedulable, h.resets())
	}

	works.Kill()
	h.kubelet.Take(h.name, job.Name)
	now := int64(0)
	h.Must(h.admin.CoreV1().Pods(h.name).Delete(t.Context(), job.Name, metav1.DeleteOptions{GracePeriodSeconds: &now}))
	h.awaitBack()
	if got, want := h.states(seen), []string{"suspect", "quarantined", "repairing", "probation", "healthy"}; !slices.Equal(got, want) {
		t.Errorf("the Node was %v, want %v", got, want)
	}
	if got := h.resets(); !slices.Equal(got, []string{busID(h.GPU(2))}) {
		t.Errorf("resets of %v", got)
	}
}

// TestTwoGPUsAreRepairedAtOnce: their pods leave by one drain, and both are reset in
// one go.
func TestTwoGPUsAreRepairedAtOnce(t *testing.T) {
	t.Parallel()
	h := inRepair(t)
	_, one := h.serve("one", 2)
	_, two := h.serve("two", 6)
	h.budget(0)
	h.kubelet.EndPods(t, h.admin, h.name, func(pod *corev1.Pod) { map[string]*process.Process{"one": one, "two": two}[pod.Name].Kill() })
	h.inService()
	h.sicken(2)
	h.sicken(6)
	for _, name := range []string{"one", "two"} {
		daemontest.Await(t, "the pod is out of rotation", func() bool { return h.pod(name).Labels[inRotation] == "" })
	}
	h.budget(2)
	h.awaitBack()
	if got, want := h.resets(), []string{busID(h.GPU(2)) + "," + busID(h.GPU(6))}; !slices.Equal(got, want) {
		t.Errorf("resets of %v, want %v", got, want)
	}
}
