package e2e

import (
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// TestXID79IsContained is the main job: one line, and the Node says all that
// the public contract promises.
func TestXID79IsContained(t *testing.T) {
	t.Parallel()
	h := onCluster(t, shared.Cluster(t))
	h.inService()
	dead := h.GPU(5)
	began := time.Now().Add(-time.Second)
	h.lose(5)
	n := h.awaitContained()

	for key, want := range map[string]string{"state": "quarantined", "fault": "xid-79", "radius": "node", "gpus-healthy": "7"} {
		if got := n.Labels["gpuhealthd.io/"+key]; got != want {
			t.Errorf("label %s is %q, want %q", key, got, want)
		}
	}
	if got, want := *quarantine(n), (corev1.Taint{Key: "gpuhealthd.io/quarantine", Value: "xid-79", Effect: corev1.TaintEffectNoSchedule}); got != want {
		t.Errorf("taint %v, want %v", got, want)
	}
	got := noteOf(t, n)
	if got.ID == "" || got.Opened.Before(began) || got.Fault != "xid-79" || !slices.Equal(got.GPUs, []string{dead.UUID}) ||
		got.Radius != "node" || got.Action != "reboot" || got.Owner != "gpuhealthd" {
		t.Errorf("incident annotation %+v", got)
	}
	checkConditions(t, n, got.ID)
	checkEvents(h, got.ID)
	if status := h.Status(); len(status.Incidents) != 1 || status.Incidents[0].Verdict.ID != got.ID {
		t.Errorf("status has incidents %+v, the Node has %s", status.Incidents, got.ID)
	}
}

func checkConditions(t *testing.T, n *corev1.Node, incident string) {
	t.Helper()
	gpu, links := condition(n, "GPUHealthy"), condition(n, "NVLinkHealthy")
	if gpu.Status != corev1.ConditionFalse || gpu.Reason != "Xid79" || !strings.Contains(gpu.Message, incident) || gpu.LastTransitionTime.IsZero() {
		t.Errorf("condition %+v", gpu)
	}
	if links.Status != corev1.ConditionTrue || links.Reason != "LinksUp" {
		t.Errorf("the links are up, and yet: condition %+v", links)
	}
}

func checkEvents(h *host, incident string) {
	h.t.Helper()
	for reason, kind := range map[string]string{
		"FaultDetected": "Warning", "NodeQuarantined": "Warning", "DrainRequested": "Normal", "RebootRequested": "Normal", "DiagRequested": "Normal",
	} {
		e := h.awaitEvent(reason)
		if e.Type != kind || !strings.Contains(e.Note, incident) || e.Regarding.Kind != "Node" {
			h.t.Errorf("event %s: type %s, note %q, regarding %+v", reason, e.Type, e.Note, e.Regarding)
		}
	}
}
