package e2e

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/gpuhealthd/gpuhealthd/internal/config"
	"github.com/gpuhealthd/gpuhealthd/remediate"
	"github.com/gpuhealthd/gpuhealthd/test/daemontest"
	"github.com/gpuhealthd/gpuhealthd/test/kubelet"
	"github.com/gpuhealthd/gpuhealthd/test/kubetest"
)

// TestRepairNeedsNoMoreThanItsRights: with the token of its pod, the rights in deploy/
// and under its policies, a daemon drains, has a GPU reset by annotation, and brings
// the node back, and nothing is forbidden on the way.
func TestRepairNeedsNoMoreThanItsRights(t *testing.T) {
	t.Parallel()
	cluster := kubetest.Start(t) // rights add up, and the other tests do without these
	programs.DeployRepair(t, cluster)
	h := withAccount(t, cluster, daemontest.Account())
	k := kubelet.Start(t)
	h.repairsByAnnotation(k.Socket)
	h.serves(k, 2)
	h.inService()
	h.sicken(2)

	asked := h.await("a reset is asked for", func(n *corev1.Node) bool { return n.Annotations["gpuhealthd.io/request"] != "" })
	if _, err := h.admin.CoreV1().Pods(metav1.NamespaceDefault).Get(t.Context(), "serving", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("the pod on the GPU: %v, want it gone before the reset", err)
	}
	h.heal(2)
	h.answer(asked)
	h.await("it is back in service", func(n *corev1.Node) bool {
		return n.Labels["gpuhealthd.io/state"] == "healthy" && !n.Spec.Unschedulable && !contained(n) && n.Annotations["gpuhealthd.io/request"] == ""
	})
	h.AwaitSettled()
	for _, reason := range []string{"Drained", "ResetDone"} {
		h.awaitEvent(reason)
	}
	if n := h.Metric("api_request_seconds_count", `code="403"`); n > 0 || strings.Contains(h.Log(), "forbidden") {
		t.Errorf("%.0f requests were forbidden", n)
	}
}

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

// repairsByAnnotation is mode repair on a host where no process has a GPU open.
func (h *host) repairsByAnnotation(socket string) {
	h.Config.Mode = remediate.Repair
	r := &h.Config.Repair
	r.Drain.KubeletSocket, r.Proc = socket, h.t.TempDir()
	r.Reset.Mode, r.Reset.Scope = remediate.MeansAnnotation, "gpu"
	r.Settle = config.Duration(10 * time.Second)
}

// serves lets a pod run that has a GPU, gets requests, and ends when it is told to.
func (h *host) serves(k *kubelet.Kubelet, gpu int) {
	h.t.Helper()
	_, err := h.admin.CoreV1().Pods(metav1.NamespaceDefault).Create(h.t.Context(), &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "serving", Labels: map[string]string{"gpuhealthd.io/in-rotation": "yes"}},
		Spec:       corev1.PodSpec{NodeName: h.name, Containers: []corev1.Container{{Name: "c", Image: "example.com/serve:1"}}},
	}, metav1.CreateOptions{})
	must(h.t, err)
	k.Give(metav1.NamespaceDefault, "serving", "nvidia.com/gpu", h.GPU(gpu).UUID)
	k.EndPods(h.t, h.admin, h.name, func(pod *corev1.Pod) {
		if pod.Labels["gpuhealthd.io/in-rotation"] != "" {
			h.t.Error("the pod ends and still gets requests")
		}
	})
}

// answer says that the reset which a Node asks for is done.
func (h *host) answer(asked *corev1.Node) {
	h.t.Helper()
	var request struct{ ID, Kind string }
	must(h.t, json.Unmarshal([]byte(asked.Annotations["gpuhealthd.io/request"]), &request))
	if request.Kind != "reset" {
		h.t.Fatalf("it asks for %+v", request)
	}
	answer := fmt.Sprintf(`{"id":%q,"result":"succeeded","text":"by hand"}`, request.ID)
	h.edit(fmt.Sprintf(`{"metadata":{"annotations":{"gpuhealthd.io/response":%q}}}`, answer))
}
