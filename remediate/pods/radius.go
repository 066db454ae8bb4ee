package pods

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/gpuhealthd/gpuhealthd/fault"
	"github.com/gpuhealthd/gpuhealthd/remediate"
)

// radius is what a drain is for, in a view.
type radius struct {
	*view
	deed remediate.Deed
	gpus []string
}

// targets are the pods that the deed moves and that are still there.
func (r radius) targets() (targets []*corev1.Pod) {
	if r.deed.Kind == remediate.StepRestart {
		return r.named()
	}
	holds := map[string]bool{}
	workloads, _ := r.holders(r.gpus)
	for _, h := range workloads {
		holds[h.Pod] = true
	}
	for i := range r.pods {
		pod := &r.pods[i]
		if r.moves(pod) && (r.deed.Whole || holds[nameOf(pod).String()]) {
			targets = append(targets, pod)
		}
	}
	return targets
}

// named are the pods of a restart that are still there, by their UIDs.
func (r radius) named() (named []*corev1.Pod) {
	for i := range r.pods {
		pod := &r.pods[i]
		if r.names(pod) && !ended(pod) {
			named = append(named, pod)
		}
	}
	return named
}

func (r radius) names(pod *corev1.Pod) bool {
	return slices.ContainsFunc(r.deed.Workloads, func(w fault.Workload) bool { return w.UID == string(pod.UID) })
}

// moves says whether eviction does anything for a pod. That of a DaemonSet comes
// back to the node at once, unless our taint keeps it away; and only one that was
// given a GPU is in the way.
func (r radius) moves(pod *corev1.Pod) bool {
	switch {
	case ended(pod) || static(pod) || nameOf(pod) == r.self:
		return false
	case ofDaemonSet(pod):
		return r.given(pod, r.gpus) && !tolerates(pod, r.deed.Fault)
	}
	return true
}
