package pods

import (
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"

	"github.com/gpuhealthd/gpuhealthd/remediate"
	"github.com/gpuhealthd/gpuhealthd/remediate/apiserver"
	"github.com/gpuhealthd/gpuhealthd/remediate/holders"
)

// view is one look at the pods of a node and at who holds its GPUs.
type view struct {
	self   types.NamespacedName
	pods   []corev1.Pod
	grants []grant
	found  holders.Found
	// unknown is why it may not be the whole truth, in words.
	unknown []string
}

// look takes a view of the pods and of the processes on some of the GPUs. An error
// is an API server that gives no list of pods; what else cannot be had is unknown.
// Without granted the kubelet is not asked.
func (p *Pods) look(ctx context.Context, gpus inventory, some []string, granted bool) (*view, error) {
	v := &view{self: p.options.Self, found: p.options.Processes(gpus.holders(some))}
	if v.found.Unknown != "" {
		v.unknown = append(v.unknown, v.found.Unknown)
	}
	if granted {
		grants, err := p.grants(ctx, gpus)
		if err != nil {
			v.unknown = append(v.unknown, err.Error())
		}
		v.grants = grants
	}
	pods, err := p.list(ctx)
	if err != nil {
		return nil, err
	}
	v.pods = pods
	for _, g := range v.grants {
		if pod := v.named(g.pod); pod != nil && ended(pod) {
			continue
		}
		for _, device := range g.unknown {
			v.unknown = append(v.unknown, fmt.Sprintf("pod %s was given %s, which is no GPU that is known here", g.pod, device))
		}
	}
	return v, nil
}

// list gets the pods of our node.
func (p *Pods) list(ctx context.Context) ([]corev1.Pod, error) {
	ctx, cancel := context.WithTimeout(ctx, apiserver.RequestLimit)
	defer cancel()
	var pods corev1.PodList
	err := p.client.Core.Get().Resource("pods").
		Param("fieldSelector", fields.OneTermEqualSelector("spec.nodeName", p.options.Node).String()).
		Do(ctx).Into(&pods)
	if err != nil {
		return nil, fmt.Errorf("list the pods of node %s: %w", p.options.Node, err)
	}
	return pods.Items, nil
}

// named gives a pod by its name, nil where the API has none.
func (v *view) named(name types.NamespacedName) *corev1.Pod {
	return v.pod(func(pod *corev1.Pod) bool { return nameOf(pod) == name })
}

// byUID gives a pod by the UID that the kubelet knows it by.
func (v *view) byUID(uid string) *corev1.Pod {
	if uid == "" {
		return nil
	}
	return v.pod(func(pod *corev1.Pod) bool {
		return string(pod.UID) == uid || pod.Annotations[hashAnnotation] == uid
	})
}

func (v *view) pod(is func(*corev1.Pod) bool) *corev1.Pod {
	for i := range v.pods {
		if is(&v.pods[i]) {
			return &v.pods[i]
		}
	}
	return nil
}

// given says whether a pod was given any of the GPUs.
func (v *view) given(pod *corev1.Pod, gpus []string) bool {
	return slices.ContainsFunc(v.grants, func(g grant) bool {
		return g.pod == nameOf(pod) && slices.ContainsFunc(g.gpus, func(gpu string) bool { return slices.Contains(gpus, gpu) })
	})
}

// holders sorts out who holds any of the GPUs: workloads, which a drain moves, and
// the services of the node. A pod that was given a GPU and has no process on it is
// a workload that holds it.
func (v *view) holders(gpus []string) (workloads, services []remediate.Holder) {
	for _, process := range v.found.Processes {
		pod := v.byUID(process.PodUID)
		for _, gpu := range process.GPUs {
			if !slices.Contains(gpus, gpu) {
				continue
			}
			h := remediate.Holder{GPU: gpu, PID: process.PID, Process: process.Name, Stuck: process.Stuck}
			if pod != nil {
				h.Pod = nameOf(pod).String()
			}
			if h.Service = process.PodUID == "" || pod != nil && v.service(pod) && !v.given(pod, []string{gpu}); h.Service {
				services = append(services, h)
			} else {
				workloads = append(workloads, h)
			}
		}
	}
	return append(workloads, v.idle(gpus, workloads)...), services
}

// idle are the pods that were given one of the GPUs and have no process on it.
func (v *view) idle(gpus []string, busy []remediate.Holder) (idle []remediate.Holder) {
	for _, g := range v.grants {
		if pod := v.named(g.pod); pod != nil && ended(pod) {
			continue
		}
		for _, gpu := range g.gpus {
			is := func(h remediate.Holder) bool { return h.GPU == gpu && h.Pod == g.pod.String() }
			if slices.Contains(gpus, gpu) && !slices.ContainsFunc(busy, is) {
				idle = append(idle, remediate.Holder{GPU: gpu, Pod: g.pod.String()})
			}
		}
	}
	return idle
}

// Occupancy says who holds the GPUs of the node: the workloads, of whom none is
// left when a drain has nothing to do, and the services. A holder without a process
// is a pod that was given a GPU and does not use it; a reset would not mind it, and
// has its own look at the processes.
func (p *Pods) Occupancy(ctx context.Context) remediate.Occupancy {
	at := time.Now()
	gpus := inventory(p.options.GPUs())
	all := gpus.find(func(GPU) bool { return true })
	v, err := p.look(ctx, gpus, all, true)
	if err != nil {
		return remediate.Occupancy{At: at, Unknown: err.Error()}
	}
	workloads, services := v.holders(all)
	return remediate.Occupancy{At: at, Holders: append(workloads, services...), Unknown: join(v.unknown)}
}
