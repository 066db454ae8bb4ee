package serving

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gpuhealthd/gpuhealthd/remediate/pods"
	"github.com/gpuhealthd/gpuhealthd/serving"
	sim "github.com/gpuhealthd/gpuhealthd/sim/serving"
	"github.com/gpuhealthd/gpuhealthd/test/daemontest"
)

// began is when the containers of these tests were started.
var began = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

// gate gives a pod the readiness gate, turned so long after its container's start.
func gate(status corev1.ConditionStatus, reason string, after time.Duration) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Spec.ReadinessGates = []corev1.PodReadinessGate{{ConditionType: pods.ConditionReady}}
		p.Status.ContainerStatuses[0].State.Running.StartedAt = metav1.NewTime(began)
		if status != "" {
			p.Status.Conditions = []corev1.PodCondition{{Type: pods.ConditionReady, Status: status, Reason: reason, LastTransitionTime: metav1.NewTime(began.Add(after))}}
		}
	}
}

func rotated(p *corev1.Pod) { p.Labels[pods.LabelInRotation] = "yes" }

// probationary is a pod that a trial has taken out of rotation, and degraded one that a
// canary speaks against.
func probationary(p *corev1.Pod) {
	p.Labels[pods.KeyServing] = string(pods.OnProbation)
	p.Annotations[pods.AnnotationOut] = "yes"
}

func degraded(p *corev1.Pod) {
	rotated(p)
	p.Labels[pods.KeyServing] = string(pods.Degraded)
}

// left is one that is degraded since a peer has left it.
func left(p *corev1.Pod) {
	degraded(p)
	p.Annotations[pods.KeyServing] = `{"state":"degraded","since":"2026-11-30T16:00:00Z","why":"it may serve from ns/p-0, which is gone"}`
}

// stalled is one that was taken out for a stall.
func stalled(p *corev1.Pod) {
	p.Labels[pods.KeyServing] = string(pods.Stalled)
	p.Annotations[pods.AnnotationOut] = "yes"
}

// drained is one that a drain has taken out.
func drained(p *corev1.Pod) { p.Annotations[pods.AnnotationOut] = "yes" }

// TestEntrants has who is held until his trial is over.
func TestEntrants(t *testing.T) {
	t.Parallel()
	type entry struct{ held, proved, failing bool }
	for name, c := range map[string]struct {
		change       func(*corev1.Pod)
		anew         bool // its life began since we look
		gated, every entry
	}{
		"neither gate nor label":   {func(*corev1.Pod) {}, true, entry{}, entry{}},
		"a gate nobody has turned": {gate("", "", 0), false, entry{held: true}, entry{held: true}},
		"a gate that we closed":    {gate("False", pods.ReasonProbation, time.Second), false, entry{held: true}, entry{held: true}},
		"a gate that a drain did":  {gate("False", pods.ReasonOut, time.Second), false, entry{}, entry{}},
		"proved":                   {gate("True", pods.ReasonProved, time.Minute), false, entry{proved: true}, entry{proved: true}},
		"started anew since":       {gate("True", pods.ReasonProved, -time.Minute), false, entry{}, entry{held: true}},
		"labelled, found so":       {rotated, false, entry{}, entry{proved: true}},
		"labelled, anew":           {rotated, true, entry{}, entry{held: true}},
		"labelled, on probation":   {probationary, false, entry{held: true}, entry{held: true}},
		"labelled, drained":        {drained, true, entry{}, entry{}},
		"labelled, degraded":       {degraded, false, entry{failing: true}, entry{proved: true, failing: true}},
		"labelled, left by a peer": {left, false, entry{}, entry{proved: true}},
		"labelled, stalled":        {stalled, false, entry{proved: true}, entry{held: true}},
		"gated, stalled": {func(p *corev1.Pod) {
			gate("False", pods.ReasonStalled, time.Minute)(p)
			p.Labels[pods.KeyServing] = string(pods.Stalled)
		}, false, entry{proved: true}, entry{held: true}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for every, want := range map[bool]entry{false: c.gated, true: c.every} {
				p := pod("10.0.0.1", map[string]string{})
				p.Labels = map[string]string{}
				p.Status.ContainerStatuses = []corev1.ContainerStatus{container("engine", "a", 0, true)}
				c.change(p)
				s := &Serving{options: Options{Every: every}}
				s.relive(nil)
				if !c.anew {
					s.lives = nil
				}
				s.relive([]*corev1.Pod{p})
				e := s.entrant(p, serving.Replica{}, "")
				if got := (entry{e.Held, e.Proved, e.Failing}); got != want {
					t.Errorf("every %t: got %+v, want %+v", every, got, want)
				}
			}
		})
	}
}

// A pod stays anew for as long as it lives, whatever else starts.
func TestRelive(t *testing.T) {
	t.Parallel()
	p := pod("10.0.0.1", nil)
	p.Status.ContainerStatuses = []corev1.ContainerStatus{container("engine", "a", 0, true)}
	s := &Serving{}
	for n, want := range []bool{false, false, true, true} {
		if n == 2 {
			p.Status.ContainerStatuses[0].RestartCount++
		}
		if s.relive([]*corev1.Pod{p}); s.lives[p.UID].anew != want {
			t.Errorf("look %d: anew %t", n, !want)
		}
	}
	if s.relive(nil); len(s.lives) != 0 {
		t.Errorf("remembered: %+v", s.lives)
	}
}

// entrant is how a pod comes to its trial, once it does.
func (b *bench) entrant(name string, fits func(serving.Entrant) bool) (found serving.Entrant) {
	b.t.Helper()
	daemontest.Await(b.t, name+" comes to its trial", func() bool {
		for _, e := range b.serving.Entrants() {
			if e.Replica.Name == b.name+"/"+name && fits(e) {
				found = e
				return true
			}
		}
		return false
	})
	return found
}

// TestTrialsOfPods goes by what the real API server has: a gate is closed and opened,
// what nobody can tell of says so, and a pod of another life is none of ours.
func TestTrialsOfPods(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	_, port := b.engine(sim.Options{})
	gated := b.pod("gated", map[string]string{AnnotationPort: port}, gate("", "", 0))
	b.kubelet.Give(b.name, "gated", resource, "GPU-0")
	b.pod("mute", nil, gate("", "", 0))
	b.kubelet.Give(b.name, "mute", resource, "GPU-1")
	b.pod("without", map[string]string{AnnotationPort: port}, gate("", "", 0))
	b.pod("job", nil)
	b.kubelet.Give(b.name, "job", resource, "GPU-2")
	b.start()
	e := b.entrant("gated", func(e serving.Entrant) bool { return e.Asked })
	if !e.Held || e.Proved || e.Lacks != "" {
		t.Errorf("gated: %+v", e)
	}
	if asks := b.serving.Canaries(func(serving.Replica) bool { return true }); len(asks) != 1 || asks[0].URL != "http://127.0.0.1:"+port {
		t.Errorf("asked: %+v", asks)
	}
	if e := b.entrant("mute", func(e serving.Entrant) bool { return len(e.Replica.GPUs) > 0 }); !e.Held || e.Lacks != "it has no endpoint at which a serving engine is known" {
		t.Errorf("mute: %+v", e)
	}
	if e := b.entrant("without", func(serving.Entrant) bool { return true }); !e.Held || e.Lacks != "no GPU of this node is known to be given to it" {
		t.Errorf("without: %+v", e)
	}
	for _, e := range b.serving.Entrants() {
		if e.Replica.Name == b.name+"/job" {
			t.Errorf("a job is on trial: %+v", e)
		}
	}

	settle := func(r serving.Replica, s serving.Standing) {
		t.Helper()
		if err := b.serving.Settle(t.Context(), []serving.Stand{{Replica: r, Standing: s, Why: "why so"}}); err != nil {
			t.Fatal(err)
		}
	}
	settle(e.Replica, serving.OnProbation)
	b.entrant("gated", func(e serving.Entrant) bool { return e.Held })
	settle(serving.Replica{Name: e.Replica.Name, UID: "another"}, serving.InService)
	settle(serving.Replica{Name: b.name + "/nobody", UID: "1"}, serving.InService)
	now, err := b.admin.CoreV1().Pods(b.name).Get(t.Context(), gated.Name, metav1.GetOptions{})
	if err != nil || len(now.Status.Conditions) != 1 || now.Status.Conditions[0].Reason != pods.ReasonProbation || now.Labels[pods.KeyServing] != "probation" {
		t.Errorf("%v: %+v %v", err, now.Status.Conditions, now.Labels)
	}
	settle(e.Replica, serving.InService)
	b.entrant("gated", func(e serving.Entrant) bool { return e.Proved && !e.Held })
}
