package pods

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gpuhealthd/gpuhealthd/remediate"
)

// tell leaves the one record of why a pod is moved, with what was true when that was
// granted, and an event on the pod.
func (d *drain) tell(ctx context.Context, r radius, pod *corev1.Pod) {
	deed, removal := d.deed, d.removal(pod)
	d.options.Log.LogAttrs(ctx, slog.LevelInfo, "pod is moved off its GPU",
		slog.Group("replica", "pod", nameOf(pod).String(), "uid", pod.UID, "owner", owner(pod), "node", d.options.Node,
			"phase", pod.Status.Phase, "ready", ready(pod), "wasInRotation", removal.was),
		slog.Group("trigger", "deed", deed.ID, "kind", deed.Kind, "fault", deed.Fault, "incidents", deed.Incidents, "reason", deed.Reason),
		slog.Group("values", "gpus", gpusOf(r, pod), "processes", processesOf(r, pod), "wholeNode", deed.Whole,
			"force", deed.Force, "began", deed.Began, "deadline", deed.Deadline),
		slog.Group("engine", removal.seen()...),
	)
	about := corev1.ObjectReference{APIVersion: "v1", Kind: "Pod", Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID}
	reason, what := "Draining", "moved off it"
	if deed.Kind == remediate.StepRestart {
		reason, what = "Restarting", "evicted, for its owner to make another"
	}
	err := d.client.Emit(ctx, d.options.Node, about, remediate.Event{
		Key:     "drain/" + deed.ID + "/" + string(pod.UID),
		Type:    corev1.EventTypeWarning,
		Reason:  reason,
		Message: fmt.Sprintf("%s on node %s: this pod is %s", deed.Fault, d.options.Node, what),
		At:      time.Now(),
	})
	if err != nil {
		d.options.Log.Warn("an event was not told", "error", err)
	}
}

func owner(pod *corev1.Pod) string {
	if o := metav1.GetControllerOf(pod); o != nil {
		return strings.ToLower(o.Kind) + "/" + o.Name
	}
	return ""
}

func ready(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

// gpusOf are those of the radius that the pod was given.
func gpusOf(r radius, pod *corev1.Pod) (gpus []string) {
	for _, gpu := range r.gpus {
		if r.given(pod, []string{gpu}) {
			gpus = append(gpus, gpu)
		}
	}
	return gpus
}

// processesOf are those of the pod that have a GPU open.
func processesOf(r radius, pod *corev1.Pod) (processes []string) {
	for _, process := range r.found.Processes {
		if p := r.byUID(process.PodUID); p != nil && p.UID == pod.UID {
			processes = append(processes, fmt.Sprintf("%d (%s)", process.PID, process.Name))
		}
	}
	return processes
}
