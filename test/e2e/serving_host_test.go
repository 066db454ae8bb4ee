package e2e

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gpuhealthd/gpuhealthd/fault"
	"github.com/gpuhealthd/gpuhealthd/internal/config"
	"github.com/gpuhealthd/gpuhealthd/remediate"
	"github.com/gpuhealthd/gpuhealthd/serving"
	"github.com/gpuhealthd/gpuhealthd/test/daemontest"
	"github.com/gpuhealthd/gpuhealthd/test/enginetest"
)

// servingHost is a host in mode repair whose pods serve, each by a real process that
// speaks an engine's metrics and the OpenAI API.
type servingHost struct {
	*repairHost
	t       testing.TB
	engines map[string]*simEngine     // by the pod
	gates   []corev1.PodReadinessGate // of the pods that are deployed
}

// simEngine is one such process.
type simEngine struct {
	*enginetest.Engine
	t   testing.TB
	pod *corev1.Pod // nil outside of Kubernetes
}

// onServing prepares a daemon in mode repair that asks engines, with no more rights than
// deploy/ gives it. Pods end, and their engines with them, once they are told to.
func onServing(t testing.TB) *servingHost {
	t.Helper()
	h := &servingHost{repairHost: inRepair(t), t: t, engines: map[string]*simEngine{}}
	programs.DeployServing(t, shared.Cluster(t))
	h.Config.Serving.Enabled = true
	h.Config.Serving.DrainCeiling = config.Duration(2 * time.Second)
	return h
}

// hurried makes stalls show in the shortest time that the configuration takes.
func (h *servingHost) hurried() *servingHost {
	hurry(&h.Config)
	return h
}

func hurry(c *config.Config) {
	c.Serving.Period, c.Serving.Deadline, c.Serving.Stall = config.Duration(time.Second), config.Duration(time.Second), config.Duration(5*time.Second)
}

// begins starts the daemon, once all engines are there.
func (h *servingHost) begins() {
	h.t.Helper()
	h.kubelet.EndPods(h.t, h.admin, h.name, func(pod *corev1.Pod) { h.engines[pod.Name].Kill() })
	h.inService()
}

// deploy lets a pod serve that was given whole GPUs.
func (h *servingHost) deploy(name string, gpus []int, flags ...string) *simEngine {
	h.t.Helper()
	e := h.deployed(name, gpus, flags...)
	for _, gpu := range gpus {
		h.kubelet.Give(h.name, name, "nvidia.com/gpu", h.GPU(gpu).UUID)
	}
	return e
}

// deployed lets a pod serve whose GPUs the kubelet does not tell of yet.
func (h *servingHost) deployed(name string, gpus []int, flags ...string) *simEngine {
	h.t.Helper()
	pods := h.admin.CoreV1().Pods(h.name)
	pod, err := pods.Create(h.t.Context(), &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, OwnerReferences: owner(), Labels: map[string]string{"app": "serve", inRotation: "yes"},
			Annotations: map[string]string{"gpuhealthd.io/serving-port": fmt.Sprint(enginetest.Port)}},
		Spec: corev1.PodSpec{NodeName: h.name, Containers: []corev1.Container{{Name: "c", Image: "example.com/serve:1"}}, ReadinessGates: h.gates},
	}, metav1.CreateOptions{})
	must(h.t, err)
	e := h.engine("", string(pod.UID), gpus, flags...)
	pod.Status = corev1.PodStatus{Phase: corev1.PodRunning, PodIP: e.Address, PodIPs: []corev1.PodIP{{IP: e.Address}},
		Conditions:        []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}},
		ContainerStatuses: []corev1.ContainerStatus{{Name: "c", ContainerID: "test://" + string(pod.UID), State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}}}
	e.pod, err = pods.UpdateStatus(h.t.Context(), pod, metav1.UpdateOptions{})
	must(h.t, err)
	h.engines[name] = e
	return e
}

// owner is the controller of a pod that is made anew when it is evicted.
func owner() []metav1.OwnerReference {
	return []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "serve", UID: "1", Controller: new(true)}}
}

// engine starts an engine on GPUs, at an address or with "" at any, in the cgroup of the pod of a UID, or with "" outside
// of any.
func (w *workshop) engine(address, pod string, gpus []int, flags ...string) *simEngine {
	w.t.Helper()
	e := &simEngine{t: w.t, Engine: enginetest.Start(w.t, enginetest.Options{Library: programs.Library(w.t), Node: w.d.Sim, Address: address, GPUs: gpus, Flags: flags})}
	w.list(e.PID(), pod)
	return e
}

// fault plays a fault of package sim/serving.
func (e *simEngine) fault(text string) {
	e.t.Helper()
	must(e.t, e.Fault(text))
}

// freeze stops the process as it is.
func (e *simEngine) freeze() {
	e.t.Helper()
	must(e.t, e.Freeze())
}

// ask sends a request, and gives whether it came to its end.
func (e *simEngine) ask(words, tokens int) <-chan bool { return e.Ask(e.t.Context(), words, tokens) }

// replicaNamed is what the daemon holds of a replica; nil is nothing yet.
func replicaNamed(d *daemontest.Daemon, name string) *serving.Score {
	if s := d.Status().Serving; s != nil {
		for i := range s.Replicas {
			if s.Replicas[i].Replica.Name == name {
				return &s.Replicas[i]
			}
		}
	}
	return nil
}

// awaitReplica returns once the daemon holds this of a replica.
func awaitReplica(t testing.TB, d *daemontest.Daemon, name string, state serving.State) {
	t.Helper()
	daemontest.Await(t, fmt.Sprintf("%s is %v", name, state), func() bool {
		r := replicaNamed(d, name)
		return r != nil && r.State == state
	})
}

// ofReplica are the incidents of a class about a replica, open and over.
func ofReplica(d *daemontest.Daemon, name string, class fault.Class) (found []remediate.Incident) {
	s := d.Status()
	for _, i := range append(s.Incidents, s.History...) {
		if v := i.Verdict; v.Class == class && len(v.Workloads) == 1 && v.Workloads[0].Name == name {
			found = append(found, i)
		}
	}
	return found
}

// awaitStall returns the first incident of a class about a replica.
func awaitStall(t testing.TB, d *daemontest.Daemon, name string, class fault.Class) (i remediate.Incident) {
	t.Helper()
	daemontest.Await(t, fmt.Sprintf("%s of %s", class, name), func() bool {
		found := ofReplica(d, name, class)
		if len(found) > 0 {
			i = found[0]
		}
		return len(found) > 0
	})
	return i
}

// full is a pod's name with its namespace.
func (h *servingHost) full(name string) string { return h.name + "/" + name }

// gone returns when a pod is gone.
func (h *servingHost) gone(name string) {
	h.t.Helper()
	daemontest.Await(h.t, "pod "+name+" is gone", func() bool { return h.pod(name) == nil })
}

// localEngine is one that the site lists, by the process that has its GPUs open.
func localEngine(name, process, url string) config.Engine {
	return config.Engine{Name: name, URLs: []string{url}, Process: process}
}

// fleetAt is a Prometheus that has one median for all latencies, in seconds.
func fleetAt(t testing.TB, median string) (url string) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, `{"status":"success","data":{"resultType":"vector","result":[{"metric":{},"value":[1,%q]}]}}`, median)
	}))
	t.Cleanup(server.Close)
	return server.URL
}
