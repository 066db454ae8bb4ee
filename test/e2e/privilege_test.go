package e2e

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/gpuhealthd/gpuhealthd/remediate"
	"github.com/gpuhealthd/gpuhealthd/test/daemontest"
	"github.com/gpuhealthd/gpuhealthd/test/kubetest"
)

// TestThePolicyOutranksTheMode: where gpuhealthd-admission allows no cordon, a daemon in
// mode observe has all that it needs, and one that wants to cordon says that it may not.
func TestThePolicyOutranksTheMode(t *testing.T) {
	t.Parallel()
	cluster := kubetest.Start(t)
	programs.Deploy(t, cluster)
	h := withAccount(t, cluster, daemontest.Account())
	_, err := h.admin.CoreV1().ConfigMaps("gpuhealthd").Patch(t.Context(), "gpuhealthd-admission", types.MergePatchType, []byte(`{"data":{"cordon":"false"}}`), metav1.PatchOptions{})
	must(t, err)
	h.Config.Mode = remediate.Observe
	h.inService()
	h.lose(5)
	n := h.await("the Node tells of the fault", func(n *corev1.Node) bool {
		return n.Labels["gpuhealthd.io/state"] == "suspect" && n.Labels["gpuhealthd.io/fault"] == "xid-79" && condition(n, "GPUHealthy").Status == corev1.ConditionFalse
	})
	h.AwaitSettled()
	if forbidden := h.Metric("api_request_seconds_count", `code="403"`); forbidden > 0 || n.Spec.Unschedulable || contained(n) {
		t.Errorf("%.0f requests were forbidden; cordoned %t, contained %t", forbidden, n.Spec.Unschedulable, contained(n))
	}
	h.Stop()

	h.Config.Mode = remediate.Contain
	h.StartReady()
	h.lose(2)
	h.AwaitLog(`"level":"ERROR"`, "gpuhealthd-admission does not allow to cordon")
	daemontest.Await(t, "the missing right is told", func() bool { return len(h.events("NodeWriteForbidden")) == 1 })
	if n := h.object(); n.Spec.Unschedulable || contained(n) {
		t.Error("the Node was taken out of service")
	}
}
