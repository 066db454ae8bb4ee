package e2e

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// TestWhatTheDevicePluginOffers is shown, also when it changes, and nobody is
// judged by it.
func TestWhatTheDevicePluginOffers(t *testing.T) {
	t.Parallel()
	h := onCluster(t, shared.Cluster(t))
	h.inService()
	const offers = `{"status":{"capacity":{"nvidia.com/gpu":"8"},"allocatable":{"nvidia.com/gpu":"7"}}}`
	_, err := h.admin.CoreV1().Nodes().Patch(t.Context(), h.name, types.MergePatchType, []byte(offers), metav1.PatchOptions{}, "status")
	must(t, err)
	h.AwaitMetric(7, "gpus_offered", `amount="allocatable"`)
	if n := h.Metric("gpus_offered", `amount="capacity"`); n != 8 {
		t.Errorf("metric gpus_offered, capacity, is %v", n)
	}
	if text := h.StatusText(); !strings.Contains(text, "offers 7 of 8 GPUs") {
		t.Errorf("gpuhealthd status says:\n%s", text)
	}
	h.staysAsItIs()
	if incidents := h.Status().Incidents; len(incidents) > 0 {
		t.Errorf("incidents %+v", incidents)
	}
}
