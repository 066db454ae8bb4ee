package e2e

import (
	"os"
	"path/filepath"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gpuhealthd/gpuhealthd/test/daemontest"
)

// draining sickens a GPU whose pod a budget keeps, and returns once its eviction was
// refused.
func (h *repairHost) draining(gpu int) *corev1.Pod {
	h.t.Helper()
	pod, lives := h.serve("serving", gpu)
	h.budget(0)
	h.kubelet.EndPods(h.t, h.admin, h.name, func(*corev1.Pod) { lives.Kill() })
	h.inService()
	h.sicken(gpu)
	h.awaitContained()
	h.AwaitMetric(1, "api_request_seconds_count", `resource="pods/eviction"`, `code="429"`)
	return pod
}

// TestAnUncordonCallsTheDrainOff: the pod stays, and nothing is reset.
func TestAnUncordonCallsTheDrainOff(t *testing.T) {
	t.Parallel()
	h := inRepair(t)
	pod := h.draining(2)
	h.edit(uncordon)
	h.awaitEvent("ClaimEnded")
	h.awaitEvent("DrainCalledOff")
	h.await("nothing is left of it", func(n *corev1.Node) bool {
		return n.Labels["gpuhealthd.io/state"] == "suspect" && !n.Spec.Unschedulable && quarantine(n) == nil
	})
	h.AwaitLog(`"ended"`, `"result":"aborted"`)
	h.budget(1)
	h.staysAsItIs()
	if now := h.pod(pod.Name); now == nil || now.DeletionTimestamp != nil || len(h.resets()) > 0 {
		t.Errorf("the pod is %+v, resets %v, and the drain was called off", now, h.resets())
	}
}

// TestAnUncordonLetsAResetEnd: a reset that is under way cannot be called off. It ends,
// what it has changed is put back, and the node serves.
func TestAnUncordonLetsAResetEnd(t *testing.T) {
	t.Parallel()
	h := inRepair(t)
	goOn := filepath.Join(t.TempDir(), "go-on")
	h.smi("until [ -e "+goOn+" ]; do sleep 0.05; done", "")
	h.edit(operands)
	h.inService()
	h.sicken(2)
	daemontest.Await(t, "the GPU is being reset", func() bool { return len(h.resets()) > 0 })
	h.edit(uncordon)
	h.awaitEvent("ClaimEnded")
	must(t, os.WriteFile(goOn, nil, 0o600))
	h.awaitBack()
	h.restored(2)
	if got := h.resets(); len(got) != 1 {
		t.Errorf("resets of %v", got)
	}
}

// TestARepairLeavesAnAdministratorsCordon, which was there before.
func TestARepairLeavesAnAdministratorsCordon(t *testing.T) {
	t.Parallel()
	h := inRepair(t)
	h.inService()
	h.edit(cordon)
	seen := h.record()
	h.sicken(2)
	h.awaitContained()
	h.await("the incident is over", func(n *corev1.Node) bool {
		return n.Labels["gpuhealthd.io/state"] == "healthy" && n.Labels["gpuhealthd.io/gpus-healthy"] == "8" && quarantine(n) == nil
	})
	for _, v := range h.versions(seen) {
		if !v.Spec.Unschedulable {
			t.Errorf("version %s has the administrator's cordon released", v.ResourceVersion)
		}
	}
	if got := h.resets(); len(got) != 1 {
		t.Errorf("resets of %v", got)
	}
}

// TestANodeThatIsMadeAnewIsRepaired: the object goes in the middle of the drain, and
// the one that comes instead is closed, kept from autoscalers for as long as the
// incident is open, and back in service.
func TestANodeThatIsMadeAnewIsRepaired(t *testing.T) {
	t.Parallel()
	h := inRepair(t)
	h.Config.Kubernetes.KeepFromAutoscaler = true
	h.draining(2)
	kept := func(n *corev1.Node) bool {
		a := n.Annotations
		return a["cluster-autoscaler.kubernetes.io/scale-down-disabled"] == "true" && a["karpenter.sh/do-not-disrupt"] == "true"
	}
	if !kept(h.object()) {
		t.Error("autoscalers may take a node that is drained")
	}
	nodes := h.admin.CoreV1().Nodes()
	h.Must(nodes.Delete(t.Context(), h.name, metav1.DeleteOptions{}))
	h.AwaitLog("the API server has no such Node")
	_, err := nodes.Create(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: h.name}}, metav1.CreateOptions{})
	h.Must(err)
	if n := h.awaitContained(); !kept(n) {
		t.Error("autoscalers may take the new Node")
	}
	h.budget(1)
	daemontest.Await(t, "the pod is gone", func() bool { return h.pod("serving") == nil })
	if n := h.awaitBack(); kept(n) {
		t.Error("the Node is still kept from autoscalers")
	}
	if got := h.resets(); len(got) != 1 {
		t.Errorf("resets of %v", got)
	}
}
