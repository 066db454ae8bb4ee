package e2e

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/gpuhealthd/gpuhealthd/test/daemontest"
	"github.com/gpuhealthd/gpuhealthd/test/kubetest"
)

// host is a simulated GPU node with its Node object, and an administrator.
type host struct {
	*daemontest.Daemon
	t     testing.TB
	admin kubernetes.Interface
	name  string
}

// onCluster prepares a daemon with a Node of its own, under its own service
// account and no more rights than deploy/ gives that. It is not started.
func onCluster(t testing.TB, cluster *kubetest.Cluster) *host {
	t.Helper()
	programs.Deploy(t, cluster)
	return withAccount(t, cluster, daemontest.Account())
}

// withAccount is onCluster under any service account.
func withAccount(t testing.TB, cluster *kubetest.Cluster, account types.NamespacedName) *host {
	t.Helper()
	h := &host{t: t, Daemon: programs.New(t)}
	// What a test leaves in the API, such as its events, is not the next run's.
	h.name = fmt.Sprintf("%s-%x", strings.NewReplacer("/", "-", "_", "-").Replace(strings.ToLower(t.Name())), rand.Uint32())
	h.admin = kubernetes.NewForConfigOrDie(cluster.Admin())
	h.OnCluster(cluster, h.name, account)
	return h
}

// inService starts the daemon and returns once the Node says that it is healthy
// and nothing more is to be written.
func (h *host) inService() {
	h.t.Helper()
	h.StartReady()
	h.await("it is published as healthy", func(n *corev1.Node) bool {
		return n.Labels["gpuhealthd.io/state"] == "healthy" && n.Labels["gpuhealthd.io/gpus-healthy"] == "8" &&
			condition(n, "GPUHealthy").Status == corev1.ConditionTrue
	})
	h.AwaitSettled()
}

// object reads the Node.
func (h *host) object() *corev1.Node {
	h.t.Helper()
	node, err := h.admin.CoreV1().Nodes().Get(h.t.Context(), h.name, metav1.GetOptions{})
	if err != nil {
		h.t.Fatal(err)
	}
	return node
}

// await returns the Node once it fits.
func (h *host) await(what string, fits func(*corev1.Node) bool) (node *corev1.Node) {
	h.t.Helper()
	daemontest.Await(h.t, what, func() bool {
		node = h.object()
		return fits(node)
	})
	return node
}

// awaitContained returns the Node once it is out of service, with all that
// belongs to it.
func (h *host) awaitContained() *corev1.Node {
	h.t.Helper()
	node := h.await("the Node is cordoned, tainted, marked and conditioned", func(n *corev1.Node) bool {
		return n.Spec.Unschedulable && contained(n) && condition(n, "GPUHealthy").Status == corev1.ConditionFalse
	})
	daemontest.Await(h.t, "the daemon has seen it", func() bool { return h.Metric("steps", `step="cordon"`, `status="done"`) > 0 })
	h.AwaitSettled()
	return node
}

// contained says whether our taint and our mark are there; the cordon may be
// somebody else's.
func contained(n *corev1.Node) bool {
	return quarantine(n) != nil && n.Annotations["gpuhealthd.io/incident"] != ""
}

// edit is what an administrator does to the Node, by a JSON merge patch.
func (h *host) edit(patch string) *corev1.Node {
	h.t.Helper()
	node, err := h.admin.CoreV1().Nodes().Patch(h.t.Context(), h.name, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	if err != nil {
		h.t.Fatal(err)
	}
	return node
}

// An administrator's kubectl cordon and uncordon.
const (
	cordon   = `{"spec":{"unschedulable":true}}`
	uncordon = `{"spec":{"unschedulable":null}}`
)

// events gives the events on the Node with a reason.
func (h *host) events(reason string) (found []eventsv1.Event) {
	h.t.Helper()
	list, err := h.admin.EventsV1().Events(metav1.NamespaceDefault).List(h.t.Context(), metav1.ListOptions{})
	if err != nil {
		h.t.Fatal(err)
	}
	for _, e := range list.Items {
		if e.Regarding.Name == h.name && e.Reason == reason {
			found = append(found, e)
		}
	}
	return found
}

// awaitEvent returns when there is an event with a reason, which is then the
// only one.
func (h *host) awaitEvent(reason string) eventsv1.Event {
	h.t.Helper()
	daemontest.Await(h.t, "there is an event "+reason, func() bool { return len(h.events(reason)) > 0 })
	h.AwaitSettled()
	found := h.events(reason)
	if len(found) != 1 {
		h.t.Errorf("%d events %s: %v", len(found), reason, found)
	}
	return found[0]
}

func condition(n *corev1.Node, kind corev1.NodeConditionType) corev1.NodeCondition {
	for _, c := range n.Status.Conditions {
		if c.Type == kind {
			return c
		}
	}
	return corev1.NodeCondition{}
}

func quarantine(n *corev1.Node) *corev1.Taint {
	for i, taint := range n.Spec.Taints {
		if taint.Key == "gpuhealthd.io/quarantine" {
			return &n.Spec.Taints[i]
		}
	}
	return nil
}
