package e2e

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// TestRepairReleasesTheNode: what was reset serves its probation and goes back
// to service. Cordon and mark go in one write, as they came.
func TestRepairReleasesTheNode(t *testing.T) {
	t.Parallel()
	h := onCluster(t, shared.Cluster(t))
	h.inService()
	seen := h.record()
	h.sicken(2)
	h.awaitContained()
	h.heal(2)
	h.await("it is on probation, out of service", func(n *corev1.Node) bool {
		return n.Labels["gpuhealthd.io/state"] == "probation" && n.Spec.Unschedulable && contained(n)
	})
	h.await("it is in service", func(n *corev1.Node) bool {
		return n.Labels["gpuhealthd.io/state"] == "healthy" && !n.Spec.Unschedulable && condition(n, "GPUHealthy").Status == corev1.ConditionTrue
	})
	h.awaitEvent("ProbationServed")

	versions := h.versions(seen)
	for _, v := range versions {
		marked := v.Annotations["gpuhealthd.io/incident"] != ""
		if v.Spec.Unschedulable != marked || marked != (quarantine(v) != nil) {
			t.Errorf("version %s: cordon %t, mark %t, taint %v", v.ResourceVersion, v.Spec.Unschedulable, marked, quarantine(v))
		}
	}
	last := versions[len(versions)-1]
	for _, key := range []string{"fault", "radius"} {
		if value, ok := last.Labels["gpuhealthd.io/"+key]; ok {
			t.Errorf("a healthy Node has the label %s=%s", key, value)
		}
	}
}

// TestRebootBringsALostGPUBack: the boot that was asked for ends the incident.
func TestRebootBringsALostGPUBack(t *testing.T) {
	t.Parallel()
	h := onCluster(t, shared.Cluster(t))
	h.inService()
	h.lose(5)
	h.awaitContained()
	h.Stop()
	h.Must(h.Sim.Reboot())
	h.StartReady()
	h.await("it is in service", func(n *corev1.Node) bool {
		return n.Labels["gpuhealthd.io/state"] == "healthy" && !n.Spec.Unschedulable && !contained(n) && n.Labels["gpuhealthd.io/gpus-healthy"] == "8"
	})
}
