package e2e

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestARecreatedNodeIsContainedAgain: the new object knows nothing, and its
// being schedulable is nobody's decision.
func TestARecreatedNodeIsContainedAgain(t *testing.T) {
	t.Parallel()
	h := onCluster(t, shared.Cluster(t))
	h.inService()
	h.lose(5)
	first := h.awaitContained()
	nodes := h.admin.CoreV1().Nodes()
	h.Must(nodes.Delete(t.Context(), h.name, metav1.DeleteOptions{}))
	_, err := nodes.Create(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: h.name}}, metav1.CreateOptions{})
	h.Must(err)

	second := h.awaitContained()
	if second.UID == first.UID {
		t.Fatal("it is the same object")
	}
	if a, b := noteOf(t, first), noteOf(t, second); a.ID != b.ID || b.Owner != "gpuhealthd" {
		t.Errorf("the mark was %+v and is %+v", a, b)
	}
	h.awaitEvent("FaultDetected")
	if n := len(h.events("ClaimEnded")); n > 0 {
		t.Error("the new Node was taken for an administrator's uncordon")
	}
}
