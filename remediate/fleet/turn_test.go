package fleet

import (
	"context"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"

	"github.com/gpuhealthd/gpuhealthd/fault"
	"github.com/gpuhealthd/gpuhealthd/remediate/guard"
	"github.com/gpuhealthd/gpuhealthd/test/kubetest"
)

// troupe are decode workers of one group, and who asks for their turns.
type troupe struct {
	t       *testing.T
	cluster *kubetest.Cluster
	admin   kubernetes.Interface
	group   Serving
}

func newTroupe(t *testing.T, name string) *troupe {
	t.Helper()
	cluster := shared.Cluster(t)
	admin := kubernetes.NewForConfigOrDie(cluster.Admin())
	_, err := admin.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return &troupe{t: t, cluster: cluster, admin: admin, group: Serving{Namespace: name, Selector: "group in (g),role in (decode)"}}
}

// worker is a pod that is ready, or not.
func (r *troupe) worker(name string, ready bool) fault.Workload {
	r.t.Helper()
	pods := r.admin.CoreV1().Pods(r.group.Namespace)
	pod, err := pods.Create(r.t.Context(), &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"group": "g", "role": "decode"},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "decode", UID: "rs", Controller: new(true)}}},
		Spec: corev1.PodSpec{NodeName: "node-of-" + name, Containers: []corev1.Container{{Name: "c", Image: "example.com/c:1"}}},
	}, metav1.CreateOptions{})
	if err != nil {
		r.t.Fatal(err)
	}
	r.ready(name, ready)
	return fault.Workload{Name: r.group.Namespace + "/" + name, UID: string(pod.UID)}
}

func (r *troupe) ready(name string, ready bool) {
	r.t.Helper()
	pods := r.admin.CoreV1().Pods(r.group.Namespace)
	pod, err := pods.Get(r.t.Context(), name, metav1.GetOptions{})
	if err != nil {
		r.t.Fatal(err)
	}
	c := corev1.PodCondition{Type: corev1.PodReady, Status: corev1.ConditionFalse}
	if ready {
		c.Status = corev1.ConditionTrue
	}
	pod.Status = corev1.PodStatus{Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{c}}
	if _, err := pods.UpdateStatus(r.t.Context(), pod, metav1.UpdateOptions{}); err != nil {
		r.t.Fatal(err)
	}
}

func (r *troupe) gone(name string) {
	r.t.Helper()
	now := int64(0)
	if err := r.admin.CoreV1().Pods(r.group.Namespace).Delete(r.t.Context(), name, metav1.DeleteOptions{GracePeriodSeconds: &now}); err != nil {
		r.t.Fatal(err)
	}
}

func (r *troupe) asker(node string, turn time.Duration) *asker {
	return newAsker(r.t, r.cluster.Admin(), node, func(o *Options) {
		o.Serving = func(fault.Workload) (Serving, bool) { return r.group, true }
		o.Turn = turn
	})
}

// asks has an agent ask for a worker's turn, and compares what the answer comes to.
func (r *troupe) asks(a *asker, w fault.Workload, want string) {
	r.t.Helper()
	answer, _ := a.Ask(r.t.Context(), []guard.Ask{{Incident: w.Name, Class: fault.StalePeer, Action: guard.Restart, Workload: w}}, false)
	if got := said(answer); got != want {
		r.t.Errorf("%s: got %q, want %q", w.Name, got, want)
	}
	if answer.Leave || time.Until(answer.Until) <= 0 {
		r.t.Errorf("%s: leave %t, until %v", w.Name, answer.Leave, answer.Until)
	}
}

// comes returns once a worker's turn has come.
func (r *troupe) comes(a *asker, w fault.Workload) {
	r.t.Helper()
	err := wait.PollUntilContextTimeout(r.t.Context(), 50*time.Millisecond, 30*time.Second, true, func(ctx context.Context) (bool, error) {
		answer, _ := a.Ask(ctx, []guard.Ask{{Incident: w.Name, Action: guard.Restart, Workload: w}}, false)
		return len(answer.Granted) > 0, nil
	})
	if err != nil {
		r.t.Fatalf("the turn of %s has not come: %v", w.Name, err)
	}
}

// TestOneAtATime: a worker has its turn until the one in its place is ready.
func TestOneAtATime(t *testing.T) {
	r := newTroupe(t, "turns")
	a, b := r.asker("node-a", 0), r.asker("node-b", 0)
	first, second := r.worker("d-0", true), r.worker("d-1", true)
	r.worker("d-2", true)
	r.asks(a, first, "granted restart")
	r.asks(b, second, "restart held by turn: turns/d-0 is being restarted")
	r.asks(a, first, "granted restart") // its agent was started anew
	r.gone("d-0")
	r.asks(b, second, "restart held by turn: turns/d-0 was restarted, and 2 of 3 workers of its group are there")
	r.worker("d-0-anew", false)
	r.asks(b, second, "restart held by turn: turns/d-0-anew of the same group is not ready")
	r.ready("d-0-anew", true)
	r.asks(b, second, "granted restart")
	lease, err := a.lease.get(t.Context(), LeaseName(r.group.String()))
	if err != nil || value(lease.Spec.HolderIdentity) != "" {
		t.Errorf("the Lease is held by %q, %v", value(lease.Spec.HolderIdentity), err)
	}
}

// TestTwoOfOneNode: two workers of one node, in one question, have one turn.
func TestTwoOfOneNode(t *testing.T) {
	r := newTroupe(t, "turns-of-one")
	a := r.asker("node-a", 0)
	first, second := r.worker("d-0", true), r.worker("d-1", true)
	answer, survey := a.Ask(t.Context(), []guard.Ask{
		{Incident: "1", Action: guard.Restart, Workload: first}, {Incident: "2", Action: guard.Restart, Workload: second}}, false)
	if got, want := said(answer), "granted restart; restart held by turn: turns-of-one/d-0 is being restarted"; got != want || !survey.At.IsZero() {
		t.Errorf("got %q, want %q, and a survey of %v", got, want, survey.At)
	}
}

// TestAnAgentThatDies in its turn, or while it has the Lease, holds up its group for a
// while.
func TestAnAgentThatDies(t *testing.T) {
	r := newTroupe(t, "turns-dead")
	dead, b := r.asker("node-a", 0), r.asker("node-b", 500*time.Millisecond)
	b.times.lease = 500 * time.Millisecond
	first, second := r.worker("d-0", true), r.worker("d-1", true)
	r.asks(dead, first, "granted restart")
	r.asks(b, second, "restart held by turn: turns-dead/d-0 is being restarted")
	r.comes(b, second)

	l := lease{client: dead.Client.Leases, namespace: dead.Namespace, node: "node-c", time: time.Minute}
	if holder, err := l.take(t.Context(), r.group.String()); holder != "" || err != nil {
		t.Fatal(holder, err)
	}
	r.asks(b, second, "restart held by turn: node-c is just asking for its turn")
	r.comes(b, second)
}

// TestTurnsNeedRights: what cannot be asked holds.
func TestTurnsNeedRights(t *testing.T) {
	r := newTroupe(t, "turns-rights")
	w := r.worker("d-0", true)
	a := newAsker(t, r.cluster.ServiceAccount(t, account(t, r.cluster, "turnless"), ""), "node-a", func(o *Options) {
		o.Serving = func(fault.Workload) (Serving, bool) { return r.group, true }
	})
	answer, _ := a.Ask(context.Background(), []guard.Ask{{Incident: "1", Action: guard.Restart, Workload: w}}, false)
	if len(answer.Granted) > 0 || len(answer.Held) != 1 || answer.Held[0].Holds[0].Guard != guard.Turns {
		t.Errorf("got %+v", answer)
	}
	a.Serving = func(fault.Workload) (Serving, bool) { return Serving{}, false }
	r.asks(a, w, "restart held by turn: its serving group is not known")
}
