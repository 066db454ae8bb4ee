package pods

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/gpuhealthd/gpuhealthd/remediate"
)

// KeyServing is a label of pods, and an annotation. The label has the state of one that
// is not plainly in service, for whoever chooses where requests go; the annotation says
// since when and why, as a Told in JSON.
const KeyServing = remediate.Prefix + "serving"

// State is the value of the label KeyServing.
type State string

// The states. In service is a pod without the label.
const (
	InService State = ""
	// OnProbation: it gets no requests before it has proved that it serves.
	OnProbation State = "probation"
	// Draining: it gets no requests any more, and will be evicted.
	Draining State = "draining"
	// Degraded: it gets requests, and a canary's fail, or it was left by a peer in
	// disaggregated serving.
	Degraded State = "degraded"
	// Stalled: it gets no requests while its engine does not get on.
	Stalled State = "stalled"
)

// out says whether a pod that stands so gets no requests for that.
func (s State) out() bool { return s == OnProbation || s == Stalled }

// Told is what the annotation KeyServing says.
type Told struct {
	State State     `json:"state"`
	Since time.Time `json:"since"`
	Why   string    `json:"why"`
}

// whyLimit bounds a reason in bytes: admission.yaml bounds the annotation.
const whyLimit = 400

// tell gives label and annotation for a state that begins, as a patch has them.
func tell(s State, why string) (label, annotation any) { return tellSince(s, why, time.Now()) }

// tellSince is the same for a state that has begun at a time.
func tellSince(s State, why string, at time.Time) (label, annotation any) {
	if s == InService {
		return nil, nil
	}
	var text strings.Builder
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false) // an engine may answer with a page
	if err := encoder.Encode(Told{s, at.UTC().Truncate(time.Second), clip(why)}); err != nil {
		panic(err) // of strings and a time: never
	}
	return string(s), strings.TrimSpace(text.String())
}

// clip bounds a reason.
func clip(why string) string { return strings.ToValidUTF8(why[:min(len(why), whyLimit)], "") }

// ToldOf is what a pod says; zero where it says nothing, or what cannot be read.
func ToldOf(pod *corev1.Pod) (t Told) {
	if json.Unmarshal([]byte(pod.Annotations[KeyServing]), &t) != nil {
		return Told{}
	}
	return t
}

// Way is how requests come to a pod, as far as the agent has a say in that.
type Way struct {
	// Gated: it has the readiness gate. Labelled: it has the label LabelInRotation, or
	// had it until an agent took it.
	Gated, Labelled bool
	// Open: it gets requests. Since is when the gate was turned; zero where it has no
	// gate, or nobody has turned it.
	Open  bool
	Since time.Time
	// Deed: a drain or restart has taken it out of rotation.
	Deed  bool
	State State
}

// WayOf looks at a pod. It needs of it the labels, the annotations with our prefix, the
// readiness gates and their conditions.
func WayOf(pod *corev1.Pod) Way {
	_, labelled := pod.Labels[LabelInRotation]
	_, noted := pod.Annotations[AnnotationOut]
	w := Way{Gated: hasGate(pod), Labelled: labelled || noted, Deed: takenOut(pod), State: State(pod.Labels[KeyServing])}
	if w.Open = labelled; w.Gated {
		gate := gateOf(pod)
		if w.Open = gate != nil && gate.Status == corev1.ConditionTrue; gate != nil {
			w.Since = gate.LastTransitionTime.Time
		}
	}
	return w
}

// hasGate says whether a pod has the readiness gate.
func hasGate(pod *corev1.Pod) bool {
	return slices.Contains(pod.Spec.ReadinessGates, corev1.PodReadinessGate{ConditionType: ConditionReady})
}

// Settle makes a pod say that it is in service, on probation, degraded or stalled, and lets
// it have requests or not accordingly: by its gate where it has one, else by its label. A
// pod without either is left alone, and so is one that a drain or restart has taken out
// of rotation. One that says all of that already is not written to.
func (p *Pods) Settle(ctx context.Context, pod *corev1.Pod, want State, why string) error {
	w := WayOf(pod)
	if w.Deed || !w.Gated && !w.Labelled {
		return nil
	}
	why = clip(why)
	return errors.Join(p.mark(ctx, pod, w, want, why), p.turn(ctx, pod, w, want, why))
}

// mark changes label and annotation, and the label that requests go by.
func (p *Pods) mark(ctx context.Context, pod *corev1.Pod, w Way, want State, why string) error {
	labels, annotations := map[string]any{}, map[string]any{}
	switch told := ToldOf(pod); {
	case w.State != want:
		labels[KeyServing], annotations[KeyServing] = tell(want, why)
	case want != InService && (told.State != want || told.Why != why):
		labels[KeyServing], annotations[KeyServing] = tellSince(want, why, cmp.Or(told.Since, time.Now()))
	}
	value, in := pod.Labels[LabelInRotation]
	had, out := pod.Annotations[AnnotationOut]
	switch {
	case in && (want == Stalled || want.out() && !w.Gated): // not all routers go by a gate
		labels[LabelInRotation], annotations[AnnotationOut] = nil, value
	case !in && out && !want.out():
		labels[LabelInRotation], annotations[AnnotationOut] = had, nil
	case in && out: // somebody else has given it back
		annotations[AnnotationOut] = nil
	}
	if len(labels)+len(annotations) == 0 {
		return nil
	}
	return p.patch(ctx, pod, labels, annotations)
}

// turn opens or closes the gate.
func (p *Pods) turn(ctx context.Context, pod *corev1.Pod, w Way, want State, why string) error {
	switch {
	case !w.Gated, !want.out() && w.Open:
		return nil
	case want == OnProbation:
		return p.SetReady(ctx, pod, false, ReasonProbation, why)
	case want == Stalled:
		return p.SetReady(ctx, pod, false, ReasonStalled, why)
	case w.State == Stalled:
		return p.SetReady(ctx, pod, true, ReasonBack, "this pod gets on again")
	}
	return p.SetReady(ctx, pod, true, ReasonProved, "this pod has proved that it serves")
}

// patch changes labels and annotations. The UID in it is a condition: another pod of
// the name is not touched.
func (p *Pods) patch(ctx context.Context, pod *corev1.Pod, labels, annotations map[string]any) error {
	return p.send(ctx, pod, types.MergePatchType, "", map[string]any{"metadata": map[string]any{
		"uid": pod.UID, "labels": labels, "annotations": annotations,
	}})
}
