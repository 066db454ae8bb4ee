package pods

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/gpuhealthd/gpuhealthd/remediate"
)

// plain takes the label away that pods have here.
func plain(pod *corev1.Pod) { delete(pod.Labels, LabelInRotation) }

// closed gives a pod the readiness gate, which nobody has turned.
func closed(pod *corev1.Pod) {
	gated(pod)
	pod.Status.Conditions = pod.Status.Conditions[:len(pod.Status.Conditions)-1]
}

// said is what a pod says of itself.
type said struct {
	label, out string // in-rotation, and what it was
	state      State
	gate       corev1.ConditionStatus
	reason     string
}

func (b *bench) said(name string) (s said) {
	b.t.Helper()
	pod := b.get(name)
	s.label, s.out, s.state = pod.Labels[LabelInRotation], pod.Annotations[AnnotationOut], State(pod.Labels[KeyServing])
	if gate := gateOf(pod); gate != nil {
		s.gate, s.reason = gate.Status, gate.Reason
	}
	var told Told
	if text := pod.Annotations[KeyServing]; text != "" {
		if err := json.Unmarshal([]byte(text), &told); err != nil || told.Since.IsZero() || told.Why == "" {
			b.t.Errorf("%s says %q: %v", name, text, err)
		}
	}
	if told.State != s.state {
		b.t.Errorf("%s says %q in its label, and %q in its annotation", name, s.state, told.State)
	}
	return s
}

// settle lets a pod stand so, and wants it to say this; and a second time changes nothing.
func (b *bench) settle(name string, want State, says said) {
	b.t.Helper()
	if err := b.Settle(b.t.Context(), b.get(name), want, "why so"); err != nil {
		b.t.Fatal(err)
	}
	if got := b.said(name); got != says {
		b.t.Errorf("%s as %q says %+v, want %+v", name, want, got, says)
	}
	before := b.get(name).ResourceVersion
	if err := b.Settle(b.t.Context(), b.get(name), want, "why so"); err != nil {
		b.t.Fatal(err)
	}
	if b.get(name).ResourceVersion != before {
		b.t.Errorf("%s as %q was written to twice", name, want)
	}
}

func TestSettle(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.run("labelled")
	b.settle("labelled", InService, said{label: "yes"})
	b.settle("labelled", Degraded, said{label: "yes", state: Degraded})
	b.settle("labelled", OnProbation, said{out: "yes", state: OnProbation})
	b.settle("labelled", InService, said{label: "yes"})

	b.settle("labelled", Stalled, said{out: "yes", state: Stalled})
	if pod := b.get("labelled"); inRotation(pod) || takenOut(pod) {
		t.Error("a drain would bring back who is stalled")
	}
	b.settle("labelled", OnProbation, said{out: "yes", state: OnProbation})
	b.settle("labelled", Stalled, said{out: "yes", state: Stalled})
	b.settle("labelled", InService, said{label: "yes"})

	b.run("gated", closed)
	b.settle("gated", OnProbation, said{state: OnProbation, gate: "False", reason: ReasonProbation})
	b.settle("gated", InService, said{gate: "True", reason: ReasonProved})
	b.settle("gated", Degraded, said{state: Degraded, gate: "True", reason: ReasonProved})

	b.run("proved", gated)
	b.settle("proved", InService, said{gate: "True", reason: "Proven"})
	b.settle("proved", Stalled, said{state: Stalled, gate: "False", reason: ReasonStalled})
	b.settle("proved", InService, said{gate: "True", reason: ReasonBack})

	b.run("both", closed, func(pod *corev1.Pod) { pod.Labels[LabelInRotation] = "yes" })
	b.settle("both", OnProbation, said{label: "yes", state: OnProbation, gate: "False", reason: ReasonProbation})
	b.settle("both", InService, said{label: "yes", gate: "True", reason: ReasonProved})
	b.settle("both", Stalled, said{out: "yes", state: Stalled, gate: "False", reason: ReasonStalled})
	b.settle("both", InService, said{label: "yes", gate: "True", reason: ReasonBack})

	b.run("neither", plain)
	b.settle("neither", OnProbation, said{})
}

// Whom a drain has taken out of rotation, it brings back; what was on probation before
// stays so.
func TestSettleBesideADrain(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.run("labelled")
	b.run("gated", gated)
	for _, name := range []string{"labelled", "gated"} {
		if err := b.outOfRotation(t.Context(), b.get(name), "xid-95"); err != nil {
			t.Fatal(err)
		}
	}
	b.settle("labelled", InService, said{out: "yes", state: Draining})
	b.settle("labelled", OnProbation, said{out: "yes", state: Draining})
	b.settle("gated", InService, said{state: Draining, gate: "False", reason: ReasonOut})
	deed := remediate.Deed{Undo: []string{word(b.get("labelled")), word(b.get("gated"))}}
	if err := b.Undo(t.Context(), deed); err != nil {
		t.Fatal(err)
	}
	b.settle("labelled", InService, said{label: "yes"})
	b.settle("gated", InService, said{gate: "True", reason: ReasonBack})

	b.settle("labelled", OnProbation, said{out: "yes", state: OnProbation})
	if pod := b.get("labelled"); inRotation(pod) || takenOut(pod) {
		t.Error("a drain would bring back what is on probation")
	}
}

func TestWayOf(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for name, c := range map[string]struct {
		change func(*corev1.Pod)
		want   Way
	}{
		"way-labelled": {func(*corev1.Pod) {}, Way{Labelled: true, Open: true}},
		"way-plain":    {plain, Way{}},
		"way-gated":    {gated, Way{Gated: true, Open: true}},
		"way-closed":   {closed, Way{Gated: true}},
	} {
		got := WayOf(b.run(name, c.change))
		got.Since = c.want.Since
		if got != c.want {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}

// TestSettleSaysWhy: a pod says the newest reason, and since when it stands so; a long one
// is cut, and not written again and again.
func TestSettleSaysWhy(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.run("why", closed)
	long := strings.Repeat("<€", 200)
	var first Told
	for _, why := range []string{"one", "two", long} {
		for range 2 {
			before := b.get("why").ResourceVersion
			if err := b.Settle(b.t.Context(), b.get("why"), OnProbation, why); err != nil {
				t.Fatal(err)
			}
			pod := b.get("why")
			told, again := ToldOf(pod), first.Why == clip(why)
			if again && before != pod.ResourceVersion {
				t.Errorf("%q was written twice", why)
			}
			if told.Why == "" || !strings.HasPrefix(why, told.Why) || gateOf(pod).Message != told.Why || len(pod.Annotations[KeyServing]) > 1024 {
				t.Errorf("it says %+v, and its gate %q, of %q", told, gateOf(pod).Message, why)
			}
			if first = told; told.State != OnProbation {
				t.Errorf("it stands %+v", told)
			}
		}
	}
	since := time.Unix(1e9, 0).UTC()
	_, text := tellSince(OnProbation, "before", since)
	if err := b.patch(t.Context(), b.get("why"), map[string]any{}, map[string]any{KeyServing: text}); err != nil {
		t.Fatal(err)
	}
	if err := b.Settle(b.t.Context(), b.get("why"), OnProbation, "now"); err != nil {
		t.Fatal(err)
	}
	if told := ToldOf(b.get("why")); told.Why != "now" || !told.Since.Equal(since) {
		t.Errorf("it says %+v", told)
	}
}
