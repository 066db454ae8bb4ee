package serving

import (
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"

	"github.com/gpuhealthd/gpuhealthd/remediate/pods"
	"github.com/gpuhealthd/gpuhealthd/serving"
)

// Disaggregated says who does what in disaggregated serving.
type Disaggregated struct {
	// Lease is how long a prefill worker keeps a cache; 0 goes by what its pod says.
	Lease time.Duration
}

// place is where a worker stands in its group: its own labels, by which the others
// are found.
type place struct {
	group               string
	namespace           string
	groupKey, groupName string
	roleKey             string
	role                serving.Role
}

// placeOf finds a pod's place; false where it has none.
func (o Options) placeOf(pod *corev1.Pod) (p place, ok bool) {
	if o.Disaggregated == nil {
		return p, false
	}
	p = place{namespace: pod.Namespace, groupKey: firstKey(pod.Labels, o.Groups), roleKey: firstKey(pod.Labels, o.Roles)}
	p.groupName = pod.Labels[p.groupKey]
	p.group = pod.Namespace + "/" + p.groupName
	for role, values := range o.RoleWords {
		if slices.Contains(values, pod.Labels[p.roleKey]) {
			p.role = role
		}
	}
	return p, p.groupName != "" && p.role != ""
}

// selector finds all workers of a role in the group, by the label keys that this one
// has.
func (o Options) selector(p place, role serving.Role) string {
	in := func(key string, values ...string) labels.Requirement {
		r, err := labels.NewRequirement(key, selection.In, values)
		if err != nil { // of labels that a pod has, and values that may be labels': none
			return labels.Requirement{}
		}
		return *r
	}
	return labels.NewSelector().Add(in(p.groupKey, p.groupName), in(p.roleKey, o.RoleWords[role]...)).String()
}

// worker is a pod of this node as a worker.
func (o Options) worker(pod *corev1.Pod, p place, gpus []string, now time.Time) serving.Worker {
	w := peer(pod, p.role, now)
	w.GPUs, w.Marked, w.Degraded = gpus, pod.Annotations[pods.AnnotationStale], saysLeft(pod)
	for _, c := range engines(pod) {
		if t := transferOf(c); t.onFailure != "" {
			w.OnFailure = t.onFailure
		}
		if p.role == serving.Prefill {
			w.Lease = max(w.Lease, leaseOf(c))
		}
	}
	if p.role == serving.Prefill && o.Disaggregated.Lease > 0 {
		w.Lease = o.Disaggregated.Lease
	}
	return w
}

// saysLeft says whether a pod says that it is degraded since a peer has left it.
func saysLeft(pod *corev1.Pod) bool {
	return pods.WayOf(pod).State == pods.Degraded && serving.SaysLeft(pods.ToldOf(pod).Why)
}

// peer is a pod of any node as a worker.
func peer(pod *corev1.Pod, role serving.Role, now time.Time) serving.Worker {
	life, heard := engineLife(pod, now)
	return serving.Worker{Name: pod.Namespace + "/" + pod.Name, UID: string(pod.UID), Role: role, Life: life, Unheard: !heard, Unready: unready(pod, now)}
}

// unready says whether a pod is about to end, or not ready. One that has ended for good, or
// was lost with its node, is in nobody's way.
func unready(pod *corev1.Pod, now time.Time) bool {
	ready := slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
	return !over(pod) && !lost(pod, now) && (pod.DeletionTimestamp != nil || !ready)
}

// engines are the containers of a pod that were given GPUs, or all where none asks
// for any by itself.
func engines(pod *corev1.Pod) (found []corev1.Container) {
	for _, c := range pod.Spec.Containers {
		if len(c.Resources.Claims) > 0 || hasGPU(c.Resources.Limits) {
			found = append(found, c)
		}
	}
	if found == nil {
		return pod.Spec.Containers
	}
	return found
}

func hasGPU(limits corev1.ResourceList) bool {
	for name := range limits {
		if strings.HasPrefix(string(name), "nvidia.com/") {
			return true
		}
	}
	return false
}

// engineLife tells one start of a pod's engine from the next; empty while it does not
// run, and false while it should and its containers are not told. A pod whose time to end
// is over, and that nobody has heard of, was lost with its node.
func engineLife(pod *corev1.Pod, now time.Time) (lived string, heard bool) {
	if over(pod) || lost(pod, now) {
		return "", true
	}
	only := engines(pod)
	slim := &corev1.Pod{}
	for _, c := range pod.Status.ContainerStatuses {
		if !slices.ContainsFunc(only, func(e corev1.Container) bool { return e.Name == c.Name }) {
			continue
		}
		if c.State.Running == nil {
			return "", true
		}
		slim.Status.ContainerStatuses = append(slim.Status.ContainerStatuses, c)
	}
	if len(slim.Status.ContainerStatuses) < len(only) {
		return "", pod.Status.Phase == corev1.PodPending || pod.Status.Phase == ""
	}
	return life(slim), true
}

// lost says whether a pod should have ended, and nobody has said that it has.
func lost(pod *corev1.Pod, now time.Time) bool {
	return pod.DeletionTimestamp != nil && now.After(pod.DeletionTimestamp.Add(overdue))
}

// overdue is how long a pod may be there after its time to end: the kubelet takes a
// moment to tell.
const overdue = 10 * time.Second
