package e2e

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/gpuhealthd/gpuhealthd/test/daemontest"
)

// TestAnAdministratorsCordonStays: a Node that was cordoned before is tainted
// and marked like any other, and the cordon outlives the incident.
func TestAnAdministratorsCordonStays(t *testing.T) {
	t.Parallel()
	h := onCluster(t, shared.Cluster(t))
	h.inService()
	h.edit(cordon)
	h.sicken(2)
	n := h.awaitContained()
	if owner := noteOf(t, n).Owner; owner != "administrator" {
		t.Errorf("the cordon is %s's", owner)
	}
	seen := h.record()
	h.heal(2)
	h.await("the incident is over", func(n *corev1.Node) bool { return n.Labels["gpuhealthd.io/state"] == "healthy" })
	for _, v := range h.versions(seen) {
		if !v.Spec.Unschedulable {
			t.Errorf("version %s has the administrator's cordon released", v.ResourceVersion)
		}
	}
	if contained(h.object()) {
		t.Error("taint or mark is left")
	}
}

// TestAnAdministratorsUncordonWins: it ends the claim for that incident, and
// not for the next.
func TestAnAdministratorsUncordonWins(t *testing.T) {
	t.Parallel()
	h := onCluster(t, shared.Cluster(t))
	h.inService()
	h.sicken(2)
	h.awaitContained()
	h.edit(uncordon)
	h.await("our taint is taken off as well", func(n *corev1.Node) bool { return quarantine(n) == nil && n.Labels["gpuhealthd.io/state"] == "suspect" })
	h.awaitEvent("ClaimEnded")

	seen, heard := h.record(), h.Metric("kernel_events_total", `code="95"`)
	h.Say(daemontest.XID(h.GPU(2).PCI, daemontest.Uncontained))
	h.AwaitMetric(heard+1, "kernel_events_total", `code="95"`)
	h.staysAsItIs()
	for _, v := range h.versions(seen) {
		if v.Spec.Unschedulable {
			t.Errorf("version %s is cordoned again for the same incident", v.ResourceVersion)
		}
	}

	h.lose(5)
	if got := noteOf(t, h.awaitContained()); got.Fault != "xid-79" || got.Owner != "gpuhealthd" {
		t.Errorf("a new incident's mark is %+v", got)
	}
}
