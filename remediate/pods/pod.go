package pods

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	"github.com/gpuhealthd/gpuhealthd/fault"
	"github.com/gpuhealthd/gpuhealthd/remediate"
)

// hashAnnotation is on the mirror of a static pod and has the UID by which the
// kubelet itself knows it.
const hashAnnotation = "kubernetes.io/config.hash"

func nameOf(pod *corev1.Pod) types.NamespacedName {
	return types.NamespacedName{Namespace: pod.Namespace, Name: pod.Name}
}

// ended: none of its containers will run again. Its processes may still be there.
func ended(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
}

func static(pod *corev1.Pod) bool {
	_, mirror := pod.Annotations[corev1.MirrorPodAnnotationKey]
	return mirror
}

func ofDaemonSet(pod *corev1.Pod) bool {
	owner := metav1.GetControllerOf(pod)
	return owner != nil && owner.Kind == "DaemonSet"
}

// service says whether a pod belongs to the node rather than to its work.
func (v *view) service(pod *corev1.Pod) bool {
	return static(pod) || ofDaemonSet(pod) || nameOf(pod) == v.self
}

// tolerates says whether a pod may be on a node with our taint.
func tolerates(pod *corev1.Pod, class fault.Class) bool {
	taint := &corev1.Taint{Key: remediate.TaintQuarantine, Value: string(class), Effect: corev1.TaintEffectNoSchedule}
	for i := range pod.Spec.Tolerations {
		// Our taint's value is no number: there is nothing to compare, and to log.
		if pod.Spec.Tolerations[i].ToleratesTaint(klog.Logger{}, taint, false) {
			return true
		}
	}
	return false
}
