package serving

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	collect "github.com/gpuhealthd/gpuhealthd/collector/serving"
	"github.com/gpuhealthd/gpuhealthd/serving"
)

// seems says whether a pod would be asked if its GPUs were known: it names an endpoint, or
// asks for GPUs.
func seems(pod *corev1.Pod) bool {
	return namesPort(pod) || asksForGPU(pod)
}

func namesPort(pod *corev1.Pod) bool {
	port := pod.Annotations[AnnotationPort]
	return port != "" && port != noPort
}

func asksForGPU(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Spec.Containers, func(c corev1.Container) bool { return hasGPU(c.Resources.Limits) })
}

// lacking says whether a pod that runs asks for GPUs, and the kubelet has not told of any.
func (s *Serving) lacking() bool {
	return slices.ContainsFunc(s.running(), func(pod *corev1.Pod) bool { return asksForGPU(pod) && s.grants.of(pod) == nil })
}

// askAgain has the kubelet asked once more, at times, while a pod seems to lack what it
// was given: nothing else may change for long.
func (s *Serving) askAgain(now time.Time) {
	if now.Sub(s.asked) >= again {
		s.asked = now
		s.grants.changed()
	}
}

// together are the endpoints that several replicas name: at most one of them is right.
func together(targets []collect.Target) (all []Unfound) {
	first := map[string]serving.Replica{}
	for _, t := range targets {
		other, there := first[t.URL]
		switch {
		case !there:
			first[t.URL] = t.Replica
		case other.ID() != t.Replica.ID():
			all = append(all, Unfound{t.Replica.Name, fmt.Sprintf("%s has the same endpoint, %s; at most one of them is there", other.Name, t.URL)})
		}
	}
	return all
}
