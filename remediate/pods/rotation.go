package pods

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/gpuhealthd/gpuhealthd/fault"
	"github.com/gpuhealthd/gpuhealthd/remediate"
	"github.com/gpuhealthd/gpuhealthd/remediate/apiserver"
)

const (
	// LabelInRotation is what a site puts on pods and in the selector of their
	// Service: while a pod carries it, it gets requests.
	LabelInRotation = remediate.Prefix + "in-rotation"
	// AnnotationOut has the value of the label that was taken away, until it is given
	// back.
	AnnotationOut = remediate.Prefix + "out-of-rotation"
	// ConditionReady is the readiness gate that a site may put into its pods instead:
	// a pod that has it gets requests while the condition is True.
	ConditionReady corev1.PodConditionType = remediate.Prefix + "ready"
)

// The reasons of the condition. While it says ReasonOut, which a drain or restart does,
// nobody else should open the gate.
const (
	ReasonOut       = "OutOfRotation"
	ReasonBack      = "BackInRotation"
	ReasonProbation = "Probation"
	ReasonStalled   = "Stalled"
	ReasonProved    = "Proved"
)

// rotation is how a pod was taken out of rotation.
type rotation struct {
	was bool // it was in rotation
	// since is when that was tried first, by an agent before it may be; out is when it
	// was done. Zero is not yet.
	since, out time.Time
}

// word names a pod that is out of rotation, in what a deed owes.
func word(pod *corev1.Pod) string {
	return remediate.OutOfRotation(fault.Workload{Name: nameOf(pod).String(), UID: string(pod.UID)})
}

// takeOut takes a pod out of rotation, once it is on disk that it is to come back. One
// that cannot be taken out is waited for all the same.
func (d *drain) takeOut(ctx context.Context, pod *corev1.Pod) {
	r := d.removal(pod)
	if !r.out.IsZero() {
		return
	}
	if r.since.IsZero() {
		r.since, r.was = leftRotation(pod, time.Now()), inRotation(pod) || takenOut(pod)
	}
	if r.was {
		if err := d.writeDown(ctx, word(pod)); err != nil {
			d.options.Log.Warn("a pod still gets requests", "pod", nameOf(pod).String(), "error", err)
			return
		}
		if err := d.outOfRotation(ctx, pod, fmt.Sprintf("%s: this pod is about to be evicted", d.deed.Fault)); err != nil {
			d.options.Log.Warn("a pod still gets requests", "pod", nameOf(pod).String(), "error", err)
			return
		}
	}
	r.out = time.Now()
}

// leftRotation is when a pod was taken out of rotation, by what it says of itself: the
// time of its engine goes on while no agent is there. Now is that of one that is in.
func leftRotation(pod *corev1.Pod, now time.Time) time.Time {
	var t Told
	if json.Unmarshal([]byte(pod.Annotations[KeyServing]), &t) != nil || t.State != Draining && t.State != Stalled || t.Since.IsZero() {
		return now
	}
	if since := t.Since.Add(time.Second); since.Before(now) { // it is told in whole seconds
		return since
	}
	return now
}

// writeDown has it on disk that a pod is to come back into rotation.
func (d *drain) writeDown(ctx context.Context, word string) error {
	if slices.Contains(d.owed, word) {
		return nil
	}
	if err := d.owe(ctx, word); err != nil {
		return err
	}
	d.owed = append(d.owed, word)
	return nil
}

// inRotation says whether a pod gets requests, by its label or its gate.
func inRotation(pod *corev1.Pod) bool {
	_, labelled := pod.Labels[LabelInRotation]
	gate := gateOf(pod)
	return labelled || gate != nil && gate.Status == corev1.ConditionTrue
}

// takenOut says whether it was a drain or restart that has taken a pod out of rotation.
func takenOut(pod *corev1.Pod) bool {
	_, noted := pod.Annotations[AnnotationOut]
	gate := gateOf(pod)
	return noted && !State(pod.Labels[KeyServing]).out() || gate != nil && gate.Status == corev1.ConditionFalse && gate.Reason == ReasonOut
}

// gateOf is the condition of the pod's gate; nil where it has no gate, or nobody has
// set the condition.
func gateOf(pod *corev1.Pod) *corev1.PodCondition {
	if !hasGate(pod) {
		return nil
	}
	for i := range pod.Status.Conditions {
		if c := &pod.Status.Conditions[i]; c.Type == ConditionReady {
			return c
		}
	}
	return nil
}

// outOfRotation takes the label away, closes the gate, and says so.
func (p *Pods) outOfRotation(ctx context.Context, pod *corev1.Pod, why string) error {
	label, annotation := tell(Draining, why)
	labels, annotations := map[string]any{KeyServing: label}, map[string]any{KeyServing: annotation}
	if value, in := pod.Labels[LabelInRotation]; in {
		labels[LabelInRotation], annotations[AnnotationOut] = nil, value
	}
	var told, gate error
	if State(pod.Labels[KeyServing]) != Draining || len(labels) > 1 {
		told = p.patch(ctx, pod, labels, annotations)
	}
	if c := gateOf(pod); c != nil && c.Status == corev1.ConditionTrue {
		gate = p.SetReady(ctx, pod, false, ReasonOut, why)
	}
	return errors.Join(told, gate)
}

// Undo brings the pods back into rotation that a deed has taken out, as far as they are
// still there.
func (p *Pods) Undo(ctx context.Context, deed remediate.Deed) error {
	pods, err := p.list(ctx)
	if err != nil {
		return err
	}
	for i := range pods {
		if pod := &pods[i]; pod.DeletionTimestamp == nil && slices.Contains(deed.Undo, word(pod)) {
			err = errors.Join(err, p.backInRotation(ctx, pod))
		}
	}
	return err
}

// backInRotation gives the label back, unless there is one by now, and opens the gate.
func (p *Pods) backInRotation(ctx context.Context, pod *corev1.Pod) error {
	labels, annotations := map[string]any{}, map[string]any{}
	if value, out := pod.Annotations[AnnotationOut]; out {
		if now, labelled := pod.Labels[LabelInRotation]; labelled {
			value = now
		}
		labels[LabelInRotation], annotations[AnnotationOut] = value, nil
	}
	if State(pod.Labels[KeyServing]) == Draining {
		labels[KeyServing], annotations[KeyServing] = tell(InService, "")
	}
	var label, gate error
	if len(labels) > 0 {
		label = p.patch(ctx, pod, labels, annotations)
	}
	if c := gateOf(pod); c != nil && c.Status == corev1.ConditionFalse && c.Reason == ReasonOut {
		gate = p.SetReady(ctx, pod, true, ReasonBack, "this pod is not evicted after all")
	}
	return errors.Join(label, gate)
}

// SetReady sets the condition of the pod's readiness gate; reason is in CamelCase, as
// the API wants it. A pod that says the same already is not written to, and one of
// another UID than this, or none, is no error.
func (p *Pods) SetReady(ctx context.Context, pod *corev1.Pod, ready bool, reason, message string) error {
	c := corev1.PodCondition{Type: ConditionReady, Status: corev1.ConditionFalse, Reason: reason, Message: message, LastTransitionTime: metav1.Now()}
	if ready {
		c.Status = corev1.ConditionTrue
	}
	if had := gateOf(pod); had != nil && had.Status == c.Status {
		if c.LastTransitionTime = had.LastTransitionTime; had.Reason == reason && had.Message == message {
			return nil
		}
	}
	return p.send(ctx, pod, types.StrategicMergePatchType, "status", map[string]any{
		"metadata": map[string]any{"uid": pod.UID}, "status": map[string]any{"conditions": []corev1.PodCondition{c}},
	})
}

// send patches a pod, or a subresource of it.
func (p *Pods) send(ctx context.Context, pod *corev1.Pod, kind types.PatchType, subresource string, body any) error {
	data, err := json.Marshal(body)
	if err != nil {
		return fmt.Errorf("patch pod %s: %w", nameOf(pod), err)
	}
	ctx, cancel := context.WithTimeout(ctx, apiserver.RequestLimit)
	defer cancel()
	request := p.client.Core.Patch(kind).Namespace(pod.Namespace).Resource("pods").Name(pod.Name)
	if subresource != "" {
		request = request.SubResource(subresource)
	}
	err = request.Param("fieldManager", apiserver.Manager).Body(data).Do(ctx).Error()
	// Nothing but the UID can be invalid here.
	if err != nil && !passed(err) && !apierrors.IsInvalid(err) {
		return fmt.Errorf("patch pod %s: %w", nameOf(pod), err)
	}
	return nil
}
