package e2e

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/gpuhealthd/gpuhealthd/test/daemontest"
)

// awaitBack returns the Node once it is in service again, with so many GPUs, and
// nothing of ours is left on it. Nothing may have been forbidden on the way.
func (h *repairHost) awaitBack() *corev1.Node {
	h.t.Helper()
	n := h.await("it is back in service", func(n *corev1.Node) bool {
		return n.Labels["gpuhealthd.io/state"] == "healthy" && n.Labels["gpuhealthd.io/gpus-healthy"] == "8" &&
			!n.Spec.Unschedulable && !contained(n) && condition(n, "GPUHealthy").Status == corev1.ConditionTrue
	})
	h.AwaitSettled()
	if forbidden := h.Metric("api_request_seconds_count", `code="403"`); forbidden > 0 {
		h.t.Errorf("%.0f requests were forbidden", forbidden)
	}
	return n
}

// awaitState returns once the Node shows a state.
func (h *repairHost) awaitState(state string) {
	h.t.Helper()
	h.await("the Node is "+state, func(n *corev1.Node) bool { return n.Labels["gpuhealthd.io/state"] == state })
}

// looks returns when the daemon has looked at the pods so often again.
func (h *repairHost) looks(times float64) {
	h.t.Helper()
	looks := []string{"api_request_seconds_count", `resource="pods"`, `verb="list"`}
	h.AwaitMetric(h.Metric(looks[0], looks[1:]...)+times, looks[0], looks[1:]...)
}

// TestAResetBringsTheGPUBack: all of the way for a hard fault of one GPU. Its pod
// goes out of rotation, is kept by its disruption budget and then evicted; a process
// of it outlives it, and so does the drain; no other GPU's pod is touched.
func TestAResetBringsTheGPUBack(t *testing.T) {
	t.Parallel()
	h := inRepair(t)
	_, lingers := h.serve("serving", 2)
	bystander, _ := h.serve("bystander", 5)
	h.budget(0)
	h.endsPods()
	h.edit(operands)
	h.inService()
	seen := h.record()
	h.sicken(2)

	h.AwaitMetric(1, "api_request_seconds_count", `resource="pods/eviction"`, `code="429"`)
	if pod := h.pod("serving"); pod == nil || pod.DeletionTimestamp != nil || pod.Labels[inRotation] != "" {
		t.Errorf("while its budget refuses the pod is %+v, want it alive and out of rotation", pod)
	}
	h.awaitState("draining")
	h.budget(1)
	daemontest.Await(t, "the pod is gone", func() bool { return h.pod("serving") == nil })
	h.looks(3)
	if state := h.object().Labels["gpuhealthd.io/state"]; state != "draining" || len(h.resets()) > 0 {
		t.Errorf("state %s and resets %v while a process has the GPU open", state, h.resets())
	}
	lingers.Kill()

	h.awaitBack()
	if got, want := h.states(seen), []string{"quarantined", "draining", "repairing", "probation", "healthy"}; !slices.Equal(got, want) {
		t.Errorf("the Node was %v, want %v", got, want)
	}
	if got, want := h.resets(), []string{busID(h.GPU(2))}; !slices.Equal(got, want) {
		t.Errorf("resets of %v, want %v", got, want)
	}
	h.restored(2)
	h.untouched(bystander)
	for _, reason := range []string{"FaultDetected", "NodeQuarantined", "DrainStarted", "Drained", "ResetStarted", "ResetDone", "ProbationStarted", "ProbationServed"} {
		h.awaitEvent(reason)
	}
	if log := h.Log(); !strings.Contains(log, "a reset has done what it should") || strings.Contains(log, `"level":"ERROR"`) {
		t.Error("the log has an error, or no reset that has done what it should")
	}
}
