package e2e

import (
	"testing"
	"time"

	"github.com/gpuhealthd/gpuhealthd/test/daemontest"
)

// writes is how many requests that write the daemon counts.
func (h *host) writes() float64 {
	const requests = "api_request_seconds_count"
	asks := h.Metric(requests, `verb="create"`, `resource="selfsubjectaccessreviews"`) // what it may do: nothing is changed
	return h.Metric(requests, `verb="patch"`) + h.Metric(requests, `verb="create"`) - asks
}

func TestAHealthyNodeWritesNothing(t *testing.T) {
	t.Parallel()
	h := onCluster(t, shared.Cluster(t))
	h.inService()
	before, writes, polls := h.object(), h.writes(), h.Status().Driver.Answered
	// Thirty polls at the test's pace are two and a half minutes of a real one.
	daemontest.Await(t, "half a minute of polls has passed", func() bool {
		return h.Status().Driver.Answered.Sub(polls) > 30*time.Second
	})
	if after := h.object(); after.ResourceVersion != before.ResourceVersion {
		t.Errorf("the Node went from version %s to %s:\n%v", before.ResourceVersion, after.ResourceVersion, after.ManagedFields)
	}
	if now := h.writes(); now != writes {
		t.Errorf("%v writes, %v before", now, writes)
	}
	if gets := h.Metric("api_request_seconds_count", `verb="get"`); gets > 1 {
		t.Errorf("%v reads of a Node that is watched", gets)
	}
}

func TestAnEpisodeOpensInTwoWrites(t *testing.T) {
	t.Parallel()
	h := onCluster(t, shared.Cluster(t))
	h.inService()
	seen, writes := h.record(), h.Metric("api_request_seconds_count", `verb="patch"`)
	g := h.GPU(2)
	h.Say(daemontest.XID(g.PCI, daemontest.Uncontained))
	h.Say(daemontest.XID(g.PCI, daemontest.ResetWanted))
	h.Must(h.Sim.Recovery(g.UUID, 1))
	h.awaitContained()
	h.awaitEvent("NodeQuarantined")

	if got := h.versions(seen); len(got) > 2 {
		t.Errorf("the Node had %d versions:", len(got))
		for _, v := range got {
			t.Errorf("%s: labels %v, annotations %v, taints %v, conditions %v", v.ResourceVersion, v.Labels, v.Annotations, v.Spec.Taints, v.Status.Conditions)
		}
	}
	if now := h.Metric("api_request_seconds_count", `verb="patch"`); now-writes > 2 {
		t.Errorf("%v writes", now-writes)
	}
}
