package serving

import (
	"context"
	"sync"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"github.com/gpuhealthd/gpuhealthd/remediate/pods"
)

// podWatch is a watch on pods, which keeps slim ones. A reflector uses it as its store.
type podWatch struct {
	cache.Store
	reflector *cache.Reflector
	logger    logr.Logger
	changed   func()
	first     sync.Once
	// listed is closed once the first list is there.
	listed chan struct{}
}

// retry is how long it is waited before a watch that has broken is taken up again: what
// is lost meanwhile is to be seen soon. The jitter doubles the longest at most.
func retry() *wait.Backoff {
	return &wait.Backoff{Duration: 800 * time.Millisecond, Cap: 5 * time.Second, Steps: 10, Factor: 2, Jitter: 1}
}

// follows is what is watched.
type follows struct {
	what      string // in words
	namespace string
	only      func(*metav1.ListOptions)
}

// newWatch prepares a watch that calls changed when anything has changed.
func (s *Serving) newWatch(client *rest.RESTClient, f follows, changed func()) *podWatch {
	source := cache.NewFilteredListWatchFromClient(client, "pods", f.namespace, f.only)
	list, follow := source.ListWithContextFunc, source.WatchFuncWithContext
	source.ListWithContextFunc = func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
		object, err := list(ctx, o)
		if err != nil {
			s.troubles.fails(ctx, f.what, err)
		}
		return object, err
	}
	source.WatchFuncWithContext = func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
		w, err := follow(ctx, o)
		if err != nil {
			s.troubles.fails(ctx, f.what, err)
		} else {
			s.troubles.over(f.what)
		}
		return w, err
	}
	w := &podWatch{Store: cache.NewStore(cache.MetaNamespaceKeyFunc), logger: logr.FromSlogHandler(s.options.Log.Handler()),
		changed: changed, listed: make(chan struct{})}
	w.reflector = cache.NewReflectorWithOptions(source, &corev1.Pod{}, w, cache.ReflectorOptions{Name: f.what, Logger: &w.logger, Backoff: retry()})
	return w
}

// run watches until ctx ends.
func (w *podWatch) run(ctx context.Context) {
	w.reflector.RunWithContext(klog.NewContext(ctx, w.logger))
}

// synced says whether the first list is there.
func (w *podWatch) synced() bool {
	select {
	case <-w.listed:
		return true
	default:
		return false
	}
}

// Transformer has long lists made slim while they come.
func (w *podWatch) Transformer() cache.TransformFunc { return slim }

// Add implements cache.ReflectorStore, as the next do.
func (w *podWatch) Add(object any) error { return w.keep(object, w.Store.Add) }

// Update takes in a pod.
func (w *podWatch) Update(object any) error { return w.keep(object, w.Store.Update) }

// Delete takes one out.
func (w *podWatch) Delete(object any) error { return w.keep(object, w.Store.Delete) }

// Replace takes in a whole list.
func (w *podWatch) Replace(all []any, version string) error {
	for i := range all {
		kept, err := slim(all[i])
		if err != nil {
			return err
		}
		all[i] = kept
	}
	err := w.Store.Replace(all, version)
	w.first.Do(func() { close(w.listed) })
	w.changed()
	return err
}

func (w *podWatch) keep(object any, how func(any) error) error {
	kept, err := slim(object)
	if err != nil {
		return err
	}
	err = how(kept)
	w.changed()
	return err
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
