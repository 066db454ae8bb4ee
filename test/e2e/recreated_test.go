package e2e

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gpuhealthd/gpuhealthd/test/daemontest"
)

// TestADeletedNodeIsNoTrouble: an autoscaler may take the Node away whatever it
// was asked. The agent says so once, asks for nothing more, tells its events, and
// lives on; the Node that comes instead is contained, and kept from autoscalers
// until the incident is over.
func TestADeletedNodeIsNoTrouble(t *testing.T) {
	t.Parallel()
	h := onCluster(t, shared.Cluster(t))
	h.Config.Kubernetes.KeepFromAutoscaler = true
	h.inService()
	kept := func(n *corev1.Node) bool {
		a := n.Annotations
		return a["cluster-autoscaler.kubernetes.io/scale-down-disabled"] == "true" && a["karpenter.sh/do-not-disrupt"] == "true"
	}
	h.sicken(2)
	if !kept(h.awaitContained()) {
		t.Error("autoscalers may take the node")
	}
	nodes, lives := h.admin.CoreV1().Nodes(), h.PID()
	h.Must(nodes.Delete(t.Context(), h.name, metav1.DeleteOptions{}))
	h.AwaitLog("the API server has no such Node")
	about := func() float64 {
		return h.Metric("api_request_seconds_count", `resource="nodes"`) + h.Metric("api_request_seconds_count", `resource="nodes/status"`)
	}
	asked, since := about(), polls(h.Daemon)
	h.lose(5)
	awaitOpen(t, h.Daemon, "xid-79", h.GPU(5).UUID)
	daemontest.Await(t, "polls have passed", func() bool { return polls(h.Daemon) > since+2 })
	if now := about(); now > asked {
		t.Errorf("%.0f requests about a Node that is not there", now-asked)
	}
	if n := strings.Count(h.Log(), "no such Node"); n != 1 {
		t.Errorf("told %d times", n)
	}
	if status := h.Status(); h.PID() != lives || status.API != nil || strings.Contains(h.Log(), `"level":"ERROR"`) {
		t.Errorf("it makes trouble of it: %+v", status.API)
	}

	_, err := nodes.Create(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: h.name}}, metav1.CreateOptions{})
	h.Must(err)
	if !kept(h.awaitContained()) {
		t.Error("autoscalers may take the new Node")
	}
	h.edit(uncordon)
	h.await("nothing keeps it from autoscalers", func(n *corev1.Node) bool { return !kept(n) && quarantine(n) == nil })
}

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
