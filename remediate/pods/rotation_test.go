package pods

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/gpuhealthd/gpuhealthd/fault"
	"github.com/gpuhealthd/gpuhealthd/remediate"
)

// engines are those of pods, by UID. Each look at one is a reading of its own.
type engines struct {
	mu  sync.Mutex
	all map[types.UID]func() Load
}

// serve gives a pod an engine.
func (e *engines) serve(pod *corev1.Pod, load func() Load) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.all == nil {
		e.all = map[types.UID]func() Load{}
	}
	e.all[pod.UID] = load
}

func (e *engines) load(uid types.UID) (Load, bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	load := e.all[uid]
	if load == nil {
		return Load{}, false
	}
	return load(), true
}

// runs is an engine with so many requests, told at this moment.
func runs(n float64) Load { return Load{Running: &n, At: time.Now()} }

// stalled is one whose request never ends.
func stalled() Load { return runs(1) }

// gated gives a pod the readiness gate, open.
func gated(pod *corev1.Pod) {
	delete(pod.Labels, LabelInRotation)
	pod.Spec.ReadinessGates = []corev1.PodReadinessGate{{ConditionType: ConditionReady}}
	pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{Type: ConditionReady, Status: corev1.ConditionTrue, Reason: "Proven"})
}

// restart is that of pods whose engine has stalled.
func restart(pods ...*corev1.Pod) remediate.Deed {
	d := deed(0)
	d.ID, d.Kind, d.Fault = "restart-1", remediate.StepRestart, "stalled-engine"
	for _, pod := range pods {
		d.Workloads = append(d.Workloads, fault.Workload{Name: nameOf(pod).String(), UID: string(pod.UID)})
	}
	return d
}

// All pods leave rotation before the first is evicted, and each is evicted once its
// engine runs nothing, which takes two readings.
func TestRotationThenQuietThenEviction(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	busy, idle, other := b.run("busy"), b.run("idle"), b.run("other")
	b.kubelet.Give(b.name, "busy", resource, "GPU-0")
	b.kubelet.Give(b.name, "idle", resource, "GPU-0")
	b.kubelet.Give(b.name, "other", resource, "GPU-1")
	b.kubelet.EndPods(t, b.admin, b.name, atOnce)
	var mu sync.Mutex
	requests := 2.0
	looks := 0
	b.engines.serve(busy, func() Load {
		mu.Lock()
		defer mu.Unlock()
		return runs(requests)
	})
	b.engines.serve(idle, func() Load {
		if pod := b.get("busy"); pod == nil || pod.Labels[LabelInRotation] != "" {
			t.Error("the other is in rotation while the first is to be evicted")
		}
		looks++
		return runs(0)
	})
	outcome, _ := b.start(deed(0))
	b.await("create pods/eviction 201")
	if looks < 2 {
		t.Errorf("evicted after %d readings", looks)
	}
	b.await("list pods 200")
	b.await("list pods 200")
	if pod := b.get("busy"); pod == nil || pod.DeletionTimestamp != nil || pod.Labels[LabelInRotation] != "" || pod.Annotations[AnnotationOut] != "yes" {
		t.Errorf("while its requests run the pod is %+v", pod)
	}
	mu.Lock()
	requests = 0
	mu.Unlock()
	if got := <-outcome; got.Result != remediate.Succeeded || len(got.Owed) != 0 {
		t.Errorf("got %+v", got)
	}
	if pod := b.get("other"); pod == nil || pod.UID != other.UID || pod.Labels[LabelInRotation] == "" || pod.DeletionTimestamp != nil {
		t.Errorf("the pod on another GPU: %+v", pod)
	}
	log := b.log.String()
	for _, want := range []string{`"known":true,"waited":"`, `"until":"it runs nothing","running":0,"waiting":"unknown","at":"20`, `"wasInRotation":true`} {
		if !strings.Contains(log, want) {
			t.Errorf("no %s in\n%s", want, log)
		}
	}
}

// A stalled engine never comes to rest: its pod is evicted at the ceiling, and no
// other, be it of the same name or on the same GPU.
func TestRestartAtTheCeiling(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.options.Ceiling = 1500 * time.Millisecond
	stuck, neighbour, namesake := b.run("stuck"), b.run("neighbour"), b.run("namesake")
	for _, name := range []string{"stuck", "neighbour", "namesake"} {
		b.kubelet.Give(b.name, name, resource, "GPU-0")
	}
	b.engines.serve(stuck, stalled)
	b.kubelet.EndPods(t, b.admin, b.name, atOnce)
	gone := *namesake
	gone.UID = "an-earlier-one"
	began := time.Now()
	got := b.drain(restart(stuck, &gone))
	if took := time.Since(began); got.Result != remediate.Succeeded || took < b.options.Ceiling {
		t.Errorf("after %s: %+v", took, got)
	}
	b.awaitGone("stuck")
	for _, want := range []*corev1.Pod{neighbour, namesake} {
		if pod := b.get(want.Name); pod == nil || pod.UID != want.UID || pod.Labels[LabelInRotation] == "" || pod.DeletionTimestamp != nil {
			t.Errorf("%s: %+v, want it untouched", want.Name, pod)
		}
	}
	log := b.log.String()
	for _, want := range []string{`"kind":"restart"`, `"fault":"stalled-engine"`, `"until":"it has had its time","running":1`} {
		if !strings.Contains(log, want) {
			t.Errorf("no %s in\n%s", want, log)
		}
	}
}

// A restart does not wait for what it does not need to know.
func TestRestartWithoutKubelet(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	pod := b.run("replica", daemonSet)
	b.kubelet.Fail(errors.New("no list today"))
	b.kubelet.EndPods(t, b.admin, b.name, atOnce)
	if got := b.drain(restart(pod)); got.Result != remediate.Succeeded {
		t.Errorf("got %+v", got)
	}
	b.awaitGone("replica")
	fixed := b.run("static", func(pod *corev1.Pod) { pod.Annotations = map[string]string{corev1.MirrorPodAnnotationKey: "x"} })
	if got := b.drain(restart(fixed)); got.Result != remediate.Unavailable || b.get("static").Labels[LabelInRotation] == "" {
		t.Errorf("a static pod: %+v", got)
	}
}

func TestGateIsClosed(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	pod := b.run("replica", gated)
	b.engines.serve(pod, stalled)
	outcome, stop := b.start(restart(pod))
	b.await("patch pods/status 200")
	got := gateOf(b.get("replica"))
	if got == nil || got.Status != corev1.ConditionFalse || got.Reason != ReasonOut || got.LastTransitionTime.IsZero() {
		t.Errorf("the gate is %+v", got)
	}
	stop()
	o := <-outcome
	if o.Result != remediate.Aborted || len(o.Owed) != 1 || o.Owed[0] != <-b.owed {
		t.Errorf("got %+v", o)
	}
	undo := remediate.Deed{Undo: o.Owed}
	for range 2 {
		if err := b.Undo(t.Context(), undo); err != nil {
			t.Error(err)
		}
	}
	if got := gateOf(b.get("replica")); got.Status != corev1.ConditionTrue || got.Reason != ReasonBack {
		t.Errorf("the gate is %+v", got)
	}
}

func TestSetReadyWritesWhatIsNews(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	longAgo := metav1.NewTime(time.Now().Add(-time.Hour).Truncate(time.Second))
	pod := b.run("replica", gated, func(pod *corev1.Pod) {
		pod.Status.Conditions[1].LastTransitionTime = longAgo
	})
	if err := b.SetReady(t.Context(), pod, true, "Proven", ""); err != nil {
		t.Error(err)
	}
	if now := b.get("replica"); now.ResourceVersion != pod.ResourceVersion {
		t.Errorf("written to, and it says the same: %+v", now.Status.Conditions)
	}
	if err := b.SetReady(t.Context(), pod, true, "ProvenAgain", "twice"); err != nil {
		t.Error(err)
	}
	if got := gateOf(b.get("replica")); got.Reason != "ProvenAgain" || got.Message != "twice" || !got.LastTransitionTime.Equal(&longAgo) {
		t.Errorf("the gate is %+v, want another reason and no transition", got)
	}
	if err := b.SetReady(t.Context(), pod, false, "Failed", ""); err != nil {
		t.Error(err)
	}
	if got := gateOf(b.get("replica")); got.Status != corev1.ConditionFalse || !got.LastTransitionTime.After(longAgo.Time) {
		t.Errorf("the gate is %+v, want it closed by now", got)
	}
}

// A gate that nobody has opened is nothing that was taken.
func TestAClosedGateStaysSo(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	pod := b.run("replica", func(pod *corev1.Pod) {
		gated(pod)
		pod.Status.Conditions = nil
	})
	b.engines.serve(pod, stalled)
	outcome, stop := b.start(restart(pod))
	b.await("list pods 200")
	b.await("list pods 200")
	stop()
	if o := <-outcome; len(o.Owed) != 0 || gateOf(b.get("replica")) != nil {
		t.Errorf("got %+v", o)
	}
}

// Whoever was taken out of rotation comes back when the drain is called off: its label
// as it was, or as somebody has set it since.
func TestBackInRotation(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	mine, theirs, only := b.run("mine"), b.run("theirs"), b.run("only", func(pod *corev1.Pod) { pod.Labels = map[string]string{LabelInRotation: "blue"} })
	for _, pod := range []*corev1.Pod{mine, theirs, only} {
		b.kubelet.Give(b.name, pod.Name, resource, "GPU-0")
		b.engines.serve(pod, stalled)
	}
	outcome, stop := b.start(deed(0))
	for range 3 {
		b.await("patch pods 200")
	}
	stop()
	o := <-outcome
	if o.Result != remediate.Aborted || len(o.Owed) != 3 {
		t.Fatalf("got %+v", o)
	}
	_, err := b.admin.CoreV1().Pods(b.name).Patch(t.Context(), "theirs", types.MergePatchType,
		[]byte(`{"metadata":{"labels":{"`+LabelInRotation+`":"green"}}}`), metav1.PatchOptions{})
	if err != nil {
		t.Fatal(err)
	}
	b.restart() // another agent puts it back, by what is on disk
	for range 2 {
		if err := b.Undo(t.Context(), remediate.Deed{Undo: o.Owed}); err != nil {
			t.Error(err)
		}
	}
	for name, want := range map[string]string{"mine": "yes", "theirs": "green", "only": "blue"} {
		pod := b.get(name)
		if _, out := pod.Annotations[AnnotationOut]; out || pod.Labels[LabelInRotation] != want {
			t.Errorf("%s: labels %v, annotations %v", name, pod.Labels, pod.Annotations)
		}
	}
}

// Nothing is taken out that is not on disk as to be put back.
func TestRotationThatCannotBeWrittenDown(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	pod := b.run("replica")
	b.options.Ceiling = time.Second
	b.engines.serve(pod, func() Load { return runs(0) })
	b.kubelet.EndPods(t, b.admin, b.name, func(pod *corev1.Pod) {
		if pod.Labels[LabelInRotation] == "" {
			t.Error("taken out of rotation")
		}
	})
	full := func(context.Context, string) error { return errors.New("the disk is full") }
	if got := b.Do(t.Context(), restart(pod), full); got.Result != remediate.Succeeded || len(got.Owed) != 0 {
		t.Errorf("got %+v", got)
	}
	if log := b.log.String(); !strings.Contains(log, "the disk is full") {
		t.Errorf("no word of it in\n%s", log)
	}
}

// An agent may die after any request, and the next goes on: in the end the pod is
// gone, or back in rotation, with one event.
func TestDiesAfterAnyRequest(t *testing.T) {
	t.Parallel()
	for _, calledOff := range []bool{false, true} {
		for died := 1; died <= 6; died++ {
			t.Run(fmt.Sprintf("%t-%d", calledOff, died), func(t *testing.T) {
				t.Parallel()
				b := newBench(t)
				b.options.Ceiling = time.Second
				pod := b.run("replica", gated, func(pod *corev1.Pod) { pod.Labels[LabelInRotation] = "yes" })
				b.engines.serve(pod, stalled)
				b.kubelet.EndPods(t, b.admin, b.name, atOnce)
				d := restart(pod)
				ctx, die := context.WithCancel(t.Context())
				defer die()
				served := 0
				options := b.options
				options.Observe = func(string, string, string, time.Duration) {
					if served++; served == died {
						die()
					}
				}
				first, err := New(options)
				if err != nil {
					t.Fatal(err)
				}
				if got := first.Do(ctx, d, b.onDisk); got.Result == remediate.Aborted && len(b.owed) > 0 {
					d.Undo = []string{<-b.owed}
				}
				if calledOff {
					if err := b.Undo(t.Context(), d); err != nil {
						t.Error(err)
					}
					if pod := b.get("replica"); pod != nil && pod.DeletionTimestamp == nil && (pod.Labels[LabelInRotation] != "yes" || gateOf(pod).Status != corev1.ConditionTrue) {
						t.Errorf("left as %+v", pod)
					}
					return
				}
				if got := b.drain(d); got.Result != remediate.Succeeded && !strings.Contains(got.Text, "is terminating") {
					t.Errorf("again: %+v", got)
				}
				b.awaitGone("replica")
			})
		}
	}
}

// Whoever may have an engine that was not asked yet is waited for, until it was.
func TestAnEngineThatWasNotAskedYet(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	pod := b.run("replica")
	b.kubelet.EndPods(t, b.admin, b.name, atOnce)
	var asked atomic.Bool
	b.engines.serve(pod, func() Load {
		if asked.Load() {
			return runs(0)
		}
		return Load{}
	})
	outcome, _ := b.start(restart(pod))
	b.await("patch pods 200")
	b.await("list pods 200")
	b.await("list pods 200")
	if pod := b.get("replica"); pod == nil || pod.DeletionTimestamp != nil {
		t.Fatal("evicted before its engine was asked")
	}
	asked.Store(true)
	if got := <-outcome; got.Result != remediate.Succeeded {
		t.Errorf("got %+v", got)
	}
	if log := b.log.String(); !strings.Contains(log, `"until":"it runs nothing"`) {
		t.Errorf("the log says\n%s", log)
	}
}

// The ceiling counts from when the pod left rotation, which may be an agent ago.
func TestTheCeilingOutlivesTheAgent(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.options.Ceiling = 10 * time.Minute
	ago := func(pod *corev1.Pod, d time.Duration) {
		delete(pod.Labels, LabelInRotation)
		pod.Labels[KeyServing] = string(Draining)
		told, _ := json.Marshal(Told{Draining, time.Now().UTC().Add(-d), "xid-95"})
		pod.Annotations = map[string]string{AnnotationOut: "yes", KeyServing: string(told)}
	}
	old := b.run("old", func(pod *corev1.Pod) { ago(pod, 11*time.Minute) })
	young := b.run("young", func(pod *corev1.Pod) { ago(pod, 9*time.Minute) })
	b.kubelet.EndPods(t, b.admin, b.name, atOnce)
	for _, pod := range []*corev1.Pod{old, young} {
		b.engines.serve(pod, stalled)
	}
	d := restart(old, young)
	d.Undo = []string{word(old), word(young)}
	_, stop := b.start(d)
	b.await("create pods/eviction 201")
	b.await("list pods 200")
	b.await("list pods 200")
	stop()
	if b.get("old") != nil {
		t.Error("whose engine has had its time is still there")
	}
	if pod := b.get("young"); pod == nil || pod.DeletionTimestamp != nil {
		t.Error("whose engine has a minute left is gone")
	}
}

// What a restart cannot evict it does not wait for: others may have to go before. That is
// no try that counts, and nobody is told that the pod is moved.
func TestARestartThatIsNotLetHappen(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.budget("budget")
	pod := b.run("kept")
	if got := b.drain(restart(pod)); got.Result != remediate.Refused || !strings.Contains(got.Text, "disruption budget") || len(got.Owed) != 1 {
		t.Errorf("of a pod that its budget keeps: %+v", got)
	}
	if pod := b.get("kept"); pod.Labels[LabelInRotation] != "" || pod.DeletionTimestamp != nil {
		t.Errorf("it is %+v, want it out of rotation", pod)
	}
	alone := b.run("alone", func(pod *corev1.Pod) { pod.OwnerReferences, pod.Labels["app"] = nil, "other" })
	if got := b.drain(restart(alone)); got.Result != remediate.Unavailable || !strings.Contains(got.Text, "no owner") {
		t.Errorf("of a pod that nobody owns: %+v", got)
	}
	if pod := b.get("alone"); pod == nil || pod.DeletionTimestamp != nil || pod.Labels[LabelInRotation] != "yes" {
		t.Errorf("it is %+v, want it untouched", pod)
	}
	leaving := b.run("leaving", func(pod *corev1.Pod) { pod.Labels["app"], pod.Finalizers = "other", []string{"example.com/slow"} })
	if err := b.admin.CoreV1().Pods(b.name).Delete(t.Context(), "leaving", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if got := b.drain(restart(leaving)); got.Result != remediate.Refused || !strings.Contains(got.Text, "leaving is terminating") {
		t.Errorf("of a pod that leaves already: %+v", got)
	}
	if log := b.log.String(); strings.Contains(log, "pod is moved off its GPU") {
		t.Errorf("pods are said to be moved:\n%s", log)
	}
	if events, err := b.admin.EventsV1().Events(b.name).List(t.Context(), metav1.ListOptions{}); err != nil || len(events.Items) != 0 {
		t.Errorf("events %v, %v", events, err)
	}
	b.allow("budget", 1)
	if got := b.drain(restart(pod)); got.Result != remediate.Succeeded || len(got.Owed) != 0 {
		t.Errorf("once the budget lets it: %+v", got)
	}
	if events, err := b.admin.EventsV1().Events(b.name).List(t.Context(), metav1.ListOptions{}); err != nil || len(events.Items) != 1 {
		t.Errorf("events %v, %v, want one", events, err)
	}
}
