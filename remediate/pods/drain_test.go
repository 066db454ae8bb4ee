package pods

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/gpuhealthd/gpuhealthd/remediate"
)

func atOnce(*corev1.Pod) {}

// budget makes a disruption budget of the serving pods. No controller runs: what it
// allows is what allow says.
func (b *bench) budget(name string) {
	b.t.Helper()
	none := intstr.FromInt32(0)
	_, err := b.admin.PolicyV1().PodDisruptionBudgets(b.name).Create(b.t.Context(), &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       policyv1.PodDisruptionBudgetSpec{MaxUnavailable: &none, Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "serve"}}},
	}, metav1.CreateOptions{})
	if err != nil {
		b.t.Fatal(err)
	}
	b.allow(name, 0)
}

func (b *bench) allow(name string, disruptions int32) {
	b.t.Helper()
	budgets := b.admin.PolicyV1().PodDisruptionBudgets(b.name)
	budget, err := budgets.Get(b.t.Context(), name, metav1.GetOptions{})
	if err != nil {
		b.t.Fatal(err)
	}
	budget.Status = policyv1.PodDisruptionBudgetStatus{ObservedGeneration: budget.Generation, DisruptionsAllowed: disruptions, CurrentHealthy: 1, ExpectedPods: 1}
	if _, err := budgets.UpdateStatus(b.t.Context(), budget, metav1.UpdateOptions{}); err != nil {
		b.t.Fatal(err)
	}
}

func TestBudgetRefusesAndThenAllows(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.run("on-0")
	other := b.run("on-1")
	b.kubelet.Give(b.name, "on-0", resource, "GPU-0")
	b.kubelet.Give(b.name, "on-1", resource, "GPU-1")
	b.budget("budget")
	b.kubelet.EndPods(t, b.admin, b.name, atOnce)

	outcome, _ := b.start(deed(0))
	b.await("create pods/eviction 429")
	if pod := b.get("on-0"); pod == nil || pod.DeletionTimestamp != nil || pod.Labels[LabelInRotation] != "" {
		t.Errorf("while the budget refuses: %+v; want it alive and out of rotation", pod)
	}
	b.allow("budget", 1)
	if got := <-outcome; got.Result != remediate.Succeeded || got.Deed != "drain-1" || len(got.Holders) != 0 || got.Text != "" {
		t.Errorf("got %+v", got)
	}
	if b.get("on-0") != nil {
		t.Error("the pod is still there")
	}
	if pod := b.get("on-1"); pod.UID != other.UID || pod.DeletionTimestamp != nil || pod.Labels[LabelInRotation] == "" {
		t.Errorf("the pod on another GPU: %+v", pod)
	}
	log := b.log.String()
	if n := strings.Count(log, "pod is moved off its GPU"); n != 1 {
		t.Errorf("%d records of one pod in\n%s", n, log)
	}
	for _, want := range []string{
		`"pod":"` + b.name + `/on-0"`, `"ready":true,"wasInRotation":true`, `"fault":"xid-95"`, `"incidents":["boot/7"]`,
		`"gpus":["GPU-0"]`, "disruption budget",
	} {
		if !strings.Contains(log, want) {
			t.Errorf("no %s in\n%s", want, log)
		}
	}
}

// An agent that died in the middle of a drain begins it again.
func TestDrainIsRunAgain(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.run("on-0")
	b.kubelet.Give(b.name, "on-0", resource, "GPU-0")
	b.budget("budget")
	b.kubelet.EndPods(t, b.admin, b.name, atOnce)
	outcome, stop := b.start(deed(0))
	b.await("create pods/eviction 429")
	stop()
	if got := <-outcome; got.Result != remediate.Aborted {
		t.Errorf("got %+v", got)
	}
	b.restart()
	b.allow("budget", 1)
	if got := b.drain(deed(0)); got.Result != remediate.Succeeded {
		t.Errorf("again: %+v", got)
	}
	if got := b.drain(deed(0)); got.Result != remediate.Succeeded {
		t.Errorf("once more: %+v", got)
	}
	events, err := b.admin.EventsV1().Events(b.name).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if len(events.Items) != 1 || events.Items[0].Regarding.Name != "on-0" || events.Items[0].Reason != "Draining" {
		t.Errorf("events %+v, want one", events.Items)
	}
}

func TestForceDeletesWhatABudgetKeeps(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.run("on-0")
	b.kubelet.Give(b.name, "on-0", resource, "GPU-0")
	b.budget("budget")
	graces := make(chan int64, 1)
	b.kubelet.EndPods(t, b.admin, b.name, func(pod *corev1.Pod) { graces <- *pod.DeletionGracePeriodSeconds })
	forced := deed(0)
	forced.Force = true
	if got := b.drain(forced); got.Result != remediate.Succeeded {
		t.Errorf("got %+v", got)
	}
	if grace := <-graces; grace != 30 {
		t.Errorf("deleted with %d s of grace, want the pod's own", grace)
	}
}

// Two budgets over one pod are a mistake that the API answers with 500.
func TestOverlappingBudgetsAreToldAtTheEnd(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.run("on-0")
	b.kubelet.Give(b.name, "on-0", resource, "GPU-0")
	b.budget("one")
	b.budget("two")
	outcome, stop := b.start(deed(0))
	b.await("create pods/eviction 500")
	b.await("create pods/eviction 500") // retried
	stop()
	got := <-outcome
	if got.Result != remediate.Aborted || !strings.Contains(got.Text, "more than one PodDisruptionBudget") ||
		!strings.Contains(got.Text, b.name+"/on-0 was given GPU GPU-0") {
		t.Errorf("got %+v", got)
	}
}

func TestTerminatingPodsStillHoldTheGPU(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	pod := b.run("on-0")
	b.kubelet.Give(b.name, "on-0", resource, "GPU-0")
	holder := b.hold(0, pod)
	gone := make(chan struct{})
	b.kubelet.EndPods(t, b.admin, b.name, func(*corev1.Pod) { <-gone })

	outcome, _ := b.start(deed(0))
	b.await("create pods/eviction 201")
	b.await("list pods 200") // Terminating
	close(gone)
	for b.get("on-0") != nil {
		b.await("list pods 200")
	}
	b.await("list pods 200") // gone from kubelet and API, and still at work
	b.await("list pods 200")
	select {
	case got := <-outcome:
		t.Fatalf("drained while a process holds the GPU: %+v", got)
	default:
	}
	holder.Kill()
	if got := <-outcome; got.Result != remediate.Succeeded {
		t.Errorf("got %+v", got)
	}
}

func TestDeadlineNamesWhatIsLeft(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	pod := b.run("on-0", func(pod *corev1.Pod) { pod.Finalizers = []string{"example.com/keep"} })
	b.kubelet.Give(b.name, "on-0", resource, "GPU-0")
	b.hold(0, pod)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	got := b.Do(ctx, deed(0), b.onDisk)
	if got.Result != remediate.Unsuccessful || len(got.Holders) != 1 || got.Holders[0].Process != "sleep" || got.Holders[0].Pod != b.name+"/on-0" {
		t.Errorf("got %+v", got)
	}
	for _, want := range []string{"on-0 is terminating", "(sleep) of pod " + b.name + "/on-0 holds GPU GPU-0"} {
		if !strings.Contains(got.Text, want) {
			t.Errorf("no %q in %q", want, got.Text)
		}
	}
	b.keepNothing("on-0")
}

// keepNothing lets a pod go that a finalizer keeps.
func (b *bench) keepNothing(name string) {
	b.t.Helper()
	_, err := b.admin.CoreV1().Pods(b.name).Patch(b.t.Context(), name, "application/merge-patch+json",
		[]byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
	if err != nil {
		b.t.Fatal(err)
	}
}

// What looks after the node is left to the reset, by name; a pod that uses a GPU
// which it was not given is moved.
func TestServicesAreLeftToTheReset(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.hold(0, nil)
	b.hold(0, b.run("exporter", daemonSet))
	sneaks := b.run("privileged")
	process := b.hold(0, sneaks)
	b.kubelet.EndPods(t, b.admin, b.name, func(*corev1.Pod) { process.Kill() })
	got := b.drain(deed(0))
	if got.Result != remediate.Succeeded || len(got.Holders) != 2 || !strings.HasPrefix(got.Text, "left to the reset: process ") {
		t.Errorf("got %+v", got)
	}
	if b.get("exporter") == nil || b.get("privileged") != nil {
		t.Error("want the DaemonSet's pod there and the privileged one gone")
	}
}

func TestWholeNodeSparesWhatBelongsToIt(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.run("no-gpu")
	b.run("gpuhealthd")
	b.run("exporter", daemonSet)
	b.run("static", func(pod *corev1.Pod) { pod.Annotations = map[string]string{corev1.MirrorPodAnnotationKey: "x"} })
	b.run("ended", func(pod *corev1.Pod) { pod.Status.Phase = corev1.PodSucceeded })
	b.kubelet.Fail(errors.New("nobody needs to ask"))
	b.kubelet.EndPods(t, b.admin, b.name, atOnce)
	whole := deed(0)
	whole.Whole = true
	if got := b.drain(whole); got.Result != remediate.Succeeded {
		t.Errorf("got %+v", got)
	}
	if b.get("no-gpu") != nil {
		t.Error("the one pod that a reboot ends is still there")
	}
	for _, name := range []string{"gpuhealthd", "exporter", "static", "ended"} {
		if pod := b.get(name); pod == nil || pod.DeletionTimestamp != nil {
			t.Errorf("%s is not spared", name)
		}
	}
}

// A DaemonSet may give GPUs to its pods. Where our taint keeps such a pod from
// coming back it is moved, else evicting it would never end.
func TestDaemonSetsWithGPUs(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.run("leaves", daemonSet)
	b.run("returns", daemonSet, func(pod *corev1.Pod) {
		pod.Spec.Tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists}}
	})
	b.kubelet.Give(b.name, "leaves", resource, "GPU-0")
	b.kubelet.Give(b.name, "returns", resource, "GPU-1")
	b.kubelet.EndPods(t, b.admin, b.name, atOnce)
	if got := b.drain(deed(0)); got.Result != remediate.Succeeded {
		t.Errorf("leaves: %+v", got)
	}
	outcome, stop := b.start(deed(1))
	b.await("list pods 200")
	b.await("list pods 200")
	stop()
	if got := <-outcome; !strings.Contains(got.Text, "pod "+b.name+"/returns was given GPU GPU-1") {
		t.Errorf("returns: %+v", got)
	}
	if b.get("leaves") != nil || b.get("returns") == nil {
		t.Error("want the one gone and the other there")
	}
}

func TestAnotherPodOfTheNameIsNotTouched(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.kubelet.EndPods(t, b.admin, b.name, atOnce)
	b.run("replica")
	stale := b.get("replica")
	if err := b.remove(t.Context(), stale, false); err != nil {
		t.Fatal(err)
	}
	for b.get("replica") != nil {
		time.Sleep(10 * time.Millisecond)
	}
	fresh := b.run("replica")
	for _, force := range []bool{false, true} {
		if err := b.remove(t.Context(), stale, force); err != nil {
			t.Errorf("force %t: %v", force, err)
		}
	}
	if err := b.outOfRotation(t.Context(), stale, "why"); err != nil {
		t.Error(err)
	}
	if err := b.SetReady(t.Context(), stale, true, "Tested", "as a test wants it"); err != nil {
		t.Error(err)
	}
	if pod := b.get("replica"); pod == nil || pod.UID != fresh.UID || pod.DeletionTimestamp != nil || pod.Labels[LabelInRotation] == "" {
		t.Errorf("the new replica: %+v", pod)
	}
}

func TestUnknownIsNotDrained(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		trouble func(*bench)
		want    string
	}{
		"kubelet": {func(b *bench) { b.kubelet.Fail(errors.New("no list today")) }, "no list today"},
		"socket":  {func(b *bench) { b.options.Socket += ".none" }, "kubelet.sock.none"},
		"device":  {func(b *bench) { b.kubelet.Give(b.name, "x", resource, "GPU-9") }, `x was given "nvidia.com/gpu GPU-9", which is no GPU`},
		"proc":    {func(b *bench) { b.proc += "/none" }, "/none: no such file"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			c.trouble(b)
			outcome, stop := b.start(deed(0))
			b.await("list pods 200")
			b.await("list pods 200")
			stop()
			if got := <-outcome; got.Result != remediate.Aborted || !strings.Contains(got.Text, c.want) {
				t.Errorf("got %+v, want %q", got, c.want)
			}
			if o := b.Occupancy(t.Context()); !strings.Contains(o.Unknown, c.want) {
				t.Errorf("occupancy %+v, want it unknown: %q", o, c.want)
			}
		})
	}
}
