package serving

import (
	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/tools/cache"

	"github.com/gpuhealthd/gpuhealthd/remediate/apiserver"
	"github.com/gpuhealthd/gpuhealthd/remediate/pods"
)

// watch prepares a watch on the pods of the node, as slim ones, that calls changed when
// any has.
func watch(o Options, changed func()) (cache.Store, cache.Controller, error) {
	client, err := apiserver.New(o.Config, o.Observe)
	if err != nil {
		return nil, nil, err
	}
	here := fields.OneTermEqualSelector("spec.nodeName", o.Node)
	logger := logr.FromSlogHandler(o.Log.Handler())
	store, controller := cache.NewInformerWithOptions(cache.InformerOptions{
		Logger:        &logger,
		ListerWatcher: cache.NewListWatchFromClient(client.Core, "pods", metav1.NamespaceAll, here),
		ObjectType:    &corev1.Pod{},
		Transform:     slim,
		Handler: cache.ResourceEventHandlerFuncs{
			AddFunc:    func(any) { changed() },
			UpdateFunc: func(any, any) { changed() },
			DeleteFunc: func(any) { changed() },
		},
	})
	return store, controller, nil
}

// slim keeps of a pod what is read here: a node has hundreds, and most of each is
// what its containers are started with.
func slim(object any) (any, error) {
	pod, ok := object.(*corev1.Pod)
	if !ok {
		return object, nil
	}
	kept := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID, ResourceVersion: pod.ResourceVersion,
			DeletionTimestamp: pod.DeletionTimestamp, Labels: pod.Labels, Annotations: map[string]string{}},
		Spec:   corev1.PodSpec{ReadinessGates: pod.Spec.ReadinessGates},
		Status: corev1.PodStatus{Phase: pod.Status.Phase, PodIP: pod.Status.PodIP},
	}
	for _, key := range annotations() {
		if value, there := pod.Annotations[key]; there {
			kept.Annotations[key] = value
		}
	}
	for _, c := range pod.Status.Conditions {
		if c.Type == pods.ConditionReady || c.Type == corev1.PodReady {
			kept.Status.Conditions = append(kept.Status.Conditions, c)
		}
	}
	for _, c := range pod.Spec.Containers {
		k := startedWith(c)
		k.Name, k.Ports, k.Resources = c.Name, c.Ports, c.Resources
		kept.Spec.Containers = append(kept.Spec.Containers, k)
	}
	for _, c := range pod.Status.ContainerStatuses {
		kept.Status.ContainerStatuses = append(kept.Status.ContainerStatuses,
			corev1.ContainerStatus{Name: c.Name, RestartCount: c.RestartCount, State: c.State, ContainerID: c.ContainerID})
	}
	return kept, nil
}
