package e2e

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes"

	"github.com/gpuhealthd/gpuhealthd/internal/config"
	"github.com/gpuhealthd/gpuhealthd/test/daemontest"
)

// stalePeer is what a decode worker's pod says that was left.
const stalePeer = "gpuhealthd.io/stale-peer"

// ensemble is a group of disaggregated serving: one prefill worker on a node without an
// agent, and decode workers on nodes that have one. The engines are real processes.
type ensemble struct {
	t       testing.TB
	admin   kubernetes.Interface
	name    string // of the namespace, and of the group
	prefill *simEngine
	pod     *corev1.Pod // that of the prefill worker
	engines sync.Map    // those of the decode workers, by their pods
	flags   []string    // of theirs
	lost    time.Time   // when the prefill worker was killed last, as its pod says it
}

// decoder is one decode worker of a host, and its owner, who makes another pod when it
// is told to.
type decoder struct {
	*servingHost
	group  *ensemble
	name   string
	engine *simEngine
}

// newEnsemble makes the group with its prefill worker.
func newEnsemble(t testing.TB) *ensemble {
	t.Helper()
	cluster := shared.Cluster(t)
	g := &ensemble{t: t, admin: kubernetes.NewForConfigOrDie(cluster.Admin()), name: fmt.Sprintf("group-%x", rand.Uint32())}
	must(t, cluster.Apply(t.Context(), []byte("{apiVersion: v1, kind: Namespace, metadata: {name: "+g.name+"}}")))
	return g
}

// decode starts a host with one decode worker of the group, and its daemon.
func (g *ensemble) decode(restarts bool) *decoder {
	g.t.Helper()
	h := onServing(g.t)
	h.Config.Serving.Disaggregated.Enabled, h.Config.Serving.RestartStalePeers = true, restarts
	h.Config.Serving.Disaggregated.Rollout.Settle = config.Duration(2 * time.Second)
	h.Config.Guards.Enabled, h.Config.Guards.Group = true, "nobody-has-this"
	if g.prefill == nil {
		// Whose host its process is on does not matter to anybody.
		g.prefill = h.engine("", "", []int{7})
		g.prefill.AwaitUp()
		g.pod = g.run("prefill-0", "no-agent-here", "prefill", "127.0.0.1")
		g.ready(true)
	}
	d := &decoder{servingHost: h, group: g}
	h.kubelet.EndPods(g.t, g.admin, h.host.name, func(pod *corev1.Pod) {
		if e, there := g.engines.Load(pod.Name); there {
			e.(*simEngine).Kill()
		}
	})
	d.serves("decode-of-" + h.host.name)
	d.ready(true)
	h.inService()
	d.awaitPeers(1)
	return d
}

// run creates a pod of the group that runs, and is not ready.
func (g *ensemble) run(name, node, role, ip string) *corev1.Pod {
	g.t.Helper()
	pod, err := g.admin.CoreV1().Pods(g.name).Create(g.t.Context(), &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, OwnerReferences: owner(), Labels: map[string]string{"llm-d.ai/role": role, "llm-d.ai/model": g.name, inRotation: "yes"},
			Annotations: map[string]string{"gpuhealthd.io/serving-port": "8000"}},
		Spec: corev1.PodSpec{NodeName: node, Containers: []corev1.Container{{Name: "c", Image: "example.com/serve:1",
			Args: []string{"--kv-transfer-config", `{"kv_connector":"NixlConnector","kv_load_failure_policy":"fail"}`}}}},
	}, metav1.CreateOptions{})
	must(g.t, err)
	pod.Status = corev1.PodStatus{Phase: corev1.PodRunning, PodIP: ip, PodIPs: []corev1.PodIP{{IP: ip}},
		ContainerStatuses: []corev1.ContainerStatus{{Name: "c", ContainerID: "test://" + string(pod.UID), State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}}}
	return g.status(pod)
}

func (g *ensemble) status(pod *corev1.Pod) *corev1.Pod {
	g.t.Helper()
	pod, err := g.admin.CoreV1().Pods(g.name).UpdateStatus(g.t.Context(), pod, metav1.UpdateOptions{})
	must(g.t, err)
	return pod
}

// kill ends the prefill worker's process; another is started in its pod.
func (g *ensemble) kill() {
	g.t.Helper()
	g.prefill.Restart()
	g.prefill.AwaitUp()
	c := &g.pod.Status.ContainerStatuses[0]
	c.RestartCount++
	c.ContainerID += "-anew"
	g.lost = time.Now()
	g.pod = g.status(g.pod)
}

// ready makes the prefill worker's pod ready, or not.
func (g *ensemble) ready(ready bool) {
	g.t.Helper()
	g.pod.Status.Conditions = readiness(ready)
	g.pod = g.status(g.pod)
}

// readiness is what a kubelet says of a pod.
func readiness(ready bool) []corev1.PodCondition {
	status := corev1.ConditionFalse
	if ready {
		status = corev1.ConditionTrue
	}
	return []corev1.PodCondition{{Type: corev1.PodReady, Status: status}}
}

// serves makes a pod that decodes for the group.
func (d *decoder) serves(name string) {
	d.t.Helper()
	d.name = name
	d.engine = d.servingHost.engine("", "", []int{0}, append([]string{"-prefill", d.group.prefill.URL}, d.group.flags...)...)
	d.group.run(name, d.host.name, "decode", d.engine.Address)
	d.group.engines.Store(name, d.engine)
	d.engine.AwaitUp()
	d.kubelet.Give(d.group.name, name, "nvidia.com/gpu", d.GPU(0).UUID)
	d.asks(http.StatusOK)
}

// ready makes the pod ready, or not.
func (d *decoder) ready(ready bool) {
	d.t.Helper()
	pod := d.pod()
	pod.Status.Conditions = readiness(ready)
	d.group.status(pod)
}

// pod is the decode worker's; nil where it is gone.
func (d *decoder) pod() *corev1.Pod {
	d.t.Helper()
	pod, err := d.group.admin.CoreV1().Pods(d.group.name).Get(d.t.Context(), d.name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	must(d.t, err)
	return pod
}

// stays fails the test unless the pod is there, and serves.
func (d *decoder) stays() {
	d.t.Helper()
	if pod := d.pod(); pod == nil || pod.DeletionTimestamp != nil || pod.Labels[inRotation] == "" {
		d.t.Errorf("pod %s was touched: %+v", d.name, pod)
	}
}

// asks sends the engine a request, and compares how it is answered.
func (d *decoder) asks(want int) {
	d.t.Helper()
	answer, err := http.Post(d.engine.URL+"/v1/completions", "application/json", strings.NewReader(`{"prompt":"a b c","max_tokens":1}`))
	must(d.t, err)
	answer.Body.Close()
	if answer.StatusCode != want {
		d.t.Errorf("%s answers %s, want %d", d.name, answer.Status, want)
	}
}

// awaitPeers returns once the daemon knows so many prefill workers.
func (d *decoder) awaitPeers(n int) {
	d.t.Helper()
	daemontest.Await(d.t, "the peers are known", func() bool {
		w := d.Status().Workers
		return len(w) == 1 && w[0].Peers != nil && *w[0].Peers == n
	})
}

// awaitLeft returns once the pod says that it was left, and no request is forbidden.
func (d *decoder) awaitLeft() {
	d.t.Helper()
	daemontest.Await(d.t, "the pod says that it was left", func() bool {
		pod := d.pod()
		return pod != nil && strings.HasSuffix(pod.Annotations[stalePeer], " "+d.group.name+"/prefill-0")
	})
}

// awaitDegraded returns once routers are told, or not, that the worker is degraded.
func (d *decoder) awaitDegraded(want bool) {
	d.t.Helper()
	daemontest.Await(d.t, fmt.Sprintf("routers hear that it is degraded: %t", want), func() bool {
		pod := d.pod()
		return pod != nil && (pod.Labels["gpuhealthd.io/serving"] == "degraded") == want && strings.Contains(pod.Annotations["gpuhealthd.io/serving"], "may serve from") == want
	})
}

// awaitGone returns once the pod is gone.
func (d *decoder) awaitGone() {
	d.t.Helper()
	daemontest.Await(d.t, d.name+" is gone", func() bool { return d.pod() == nil })
}

// held says whether the daemon's restart is held by its turn.
func (d *decoder) held() bool {
	return d.Metric("held_actions", `action="restart"`, `guard="turn"`) == 1
}

// keeps has a disruption budget refuse that the pod is evicted; lets has it evicted.
func (d *decoder) keeps() { d.allowed(0) }
func (d *decoder) lets()  { d.allowed(1) }

func (d *decoder) allowed(disruptions int32) {
	d.t.Helper()
	budgets := d.group.admin.PolicyV1().PodDisruptionBudgets(d.group.name)
	budget, err := budgets.Get(d.t.Context(), "decode", metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		none := intstr.FromInt32(0)
		budget, err = budgets.Create(d.t.Context(), &policyv1.PodDisruptionBudget{
			ObjectMeta: metav1.ObjectMeta{Name: "decode"},
			Spec:       policyv1.PodDisruptionBudgetSpec{MaxUnavailable: &none, Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"llm-d.ai/role": "decode"}}},
		}, metav1.CreateOptions{})
	}
	must(d.t, err)
	budget.Status = policyv1.PodDisruptionBudgetStatus{ObservedGeneration: budget.Generation, DisruptionsAllowed: disruptions, CurrentHealthy: 1, ExpectedPods: 1}
	_, err = budgets.UpdateStatus(d.t.Context(), budget, metav1.UpdateOptions{})
	must(d.t, err)
}
