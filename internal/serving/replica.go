package serving

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/gpuhealthd/gpuhealthd/serving"
)

// replica is a pod as a replica.
func (o Options) replica(pod *corev1.Pod, gpus []string) serving.Replica {
	r := serving.Replica{Name: pod.Namespace + "/" + pod.Name, UID: string(pod.UID), Life: life(pod), GPUs: gpus}
	if role := first(pod.Labels, o.Roles); !slices.Contains(wholeRoles(), role) {
		r.Role = role
		for is, words := range o.RoleWords {
			if slices.Contains(words, role) {
				r.Role = string(is)
			}
		}
	}
	if group := first(pod.Labels, o.Groups); group != "" {
		r.Group = pod.Namespace + "/" + group
	}
	return r
}

// wholeRoles are the values of role labels that stand for all of serving.
func wholeRoles() []string {
	return []string{"both", "prefill-decode", "worker", "aggregated"}
}

// first is the value of the first of some labels that there is.
func first(labels map[string]string, keys []string) string { return labels[firstKey(labels, keys)] }

// firstKey is the first of some labels that there is; empty for none.
func firstKey(labels map[string]string, keys []string) string {
	for _, key := range keys {
		if labels[key] != "" {
			return key
		}
	}
	return ""
}

// life changes when any container of a pod is started anew: another container has
// another id, and the count tells even where that is not known yet.
func life(pod *corev1.Pod) string {
	var lives []string
	for _, c := range pod.Status.ContainerStatuses {
		id := c.ContainerID
		if _, after, found := strings.Cut(id, "://"); found {
			id = after
		}
		lives = append(lives, fmt.Sprintf("%s:%d:%.12s", c.Name, c.RestartCount, id))
	}
	slices.Sort(lives)
	return strings.Join(lives, " ")
}

// alive says whether a pod's processes live: they do where all containers run, and
// do not where none does. Of the rest it is not known whose the engine is.
func alive(pod *corev1.Pod) *bool {
	run := 0
	for _, c := range pod.Status.ContainerStatuses {
		if c.State.Running != nil {
			run++
		}
	}
	switch {
	case len(pod.Status.ContainerStatuses) == 0:
		return nil
	case run == len(pod.Status.ContainerStatuses):
		return new(true)
	case run == 0:
		return new(false)
	}
	return nil
}

// over says that a pod's containers will not run again.
func over(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
}
