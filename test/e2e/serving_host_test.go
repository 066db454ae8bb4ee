package e2e

import (
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gpuhealthd/gpuhealthd/fault"
	"github.com/gpuhealthd/gpuhealthd/internal/config"
	"github.com/gpuhealthd/gpuhealthd/remediate"
	"github.com/gpuhealthd/gpuhealthd/serving"
	"github.com/gpuhealthd/gpuhealthd/sim/node"
	"github.com/gpuhealthd/gpuhealthd/test/daemontest"
	"github.com/gpuhealthd/gpuhealthd/test/process"
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
	*process.Process
	w    *workshop
	t    testing.TB
	url  string
	gpus []string
	pod  *corev1.Pod // nil outside of Kubernetes
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
	ip := anyLoopback()
	pods := h.admin.CoreV1().Pods(h.name)
	pod, err := pods.Create(h.t.Context(), &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"app": "serve", inRotation: "yes"},
			Annotations: map[string]string{"gpuhealthd.io/serving-port": "8000"}},
		Spec: corev1.PodSpec{NodeName: h.name, Containers: []corev1.Container{{Name: "c", Image: "example.com/serve:1"}}, ReadinessGates: h.gates},
	}, metav1.CreateOptions{})
	must(h.t, err)
	e := h.engine(ip+":8000", string(pod.UID), gpus, flags...)
	pod.Status = corev1.PodStatus{Phase: corev1.PodRunning, PodIP: ip, PodIPs: []corev1.PodIP{{IP: ip}},
		Conditions:        []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}},
		ContainerStatuses: []corev1.ContainerStatus{{Name: "c", ContainerID: "test://" + string(pod.UID), State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}}}
	e.pod, err = pods.UpdateStatus(h.t.Context(), pod, metav1.UpdateOptions{})
	must(h.t, err)
	h.engines[name] = e
	return e
}

// anyLoopback is an address of this machine that nobody else has: a pod has one too.
func anyLoopback() string {
	n := rand.Uint32()
	return fmt.Sprintf("127.%d.%d.%d", 1+n%254, n>>8%256, 1+n>>16%254)
}

// engine starts an engine on GPUs, in the cgroup of the pod of a UID, or with "" outside
// of any.
func (w *workshop) engine(listen, pod string, gpus []int, flags ...string) *simEngine {
	w.t.Helper()
	open, err := os.OpenFile(w.d.Sim.Device(fmt.Sprint(gpus[0])), os.O_RDWR, 0)
	must(w.t, err)
	defer open.Close()
	var names []string
	for _, gpu := range gpus {
		names = append(names, fmt.Sprint(gpu))
	}
	argv := append([]string{"-listen", listen, "-sim", w.d.Sim.Dir(), "-gpus", strings.Join(names, ",")}, flags...)
	cmd := exec.Command(filepath.Join(programs.Library(w.t), "engine"), argv...)
	cmd.Stdin = open
	home, err := os.MkdirTemp(w.dir, "engine-")
	must(w.t, err)
	p, err := process.Start(filepath.Join(home, "log"), cmd)
	must(w.t, err)
	w.t.Cleanup(p.Kill)
	w.list(p.PID(), pod)
	return &simEngine{Process: p, w: w, t: w.t, url: "http://" + listen, gpus: names}
}

// fault plays a fault of package sim/serving.
func (e *simEngine) fault(text string) {
	e.t.Helper()
	answer, err := http.Post(e.url+"/sim/fault", "text/plain", strings.NewReader(text))
	must(e.t, err)
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		why, _ := io.ReadAll(answer.Body)
		e.t.Fatalf("fault %q: %s %s", text, answer.Status, why)
	}
}

// freeze stops the process as it is. Its GPUs have nothing to do then.
func (e *simEngine) freeze() {
	e.t.Helper()
	must(e.t, e.Pause())
	for _, gpu := range e.gpus {
		must(e.t, e.w.d.Sim.Activity(gpu, node.Idle))
	}
}

// ask sends a request, whose tokens come as a stream, and gives how it ended: true is
// with the mark of its end. Nobody need wait for it.
func (e *simEngine) ask(words, tokens int) <-chan bool {
	e.t.Helper()
	body := fmt.Sprintf(`{"prompt":%q,"max_tokens":%d,"stream":true}`, strings.Repeat("w ", words), tokens)
	request, err := http.NewRequestWithContext(e.t.Context(), http.MethodPost, e.url+"/v1/completions", strings.NewReader(body))
	must(e.t, err)
	whole := make(chan bool, 1)
	go func() {
		answer, err := http.DefaultClient.Do(request)
		if err != nil {
			whole <- false
			return
		}
		defer answer.Body.Close()
		text, err := io.ReadAll(answer.Body)
		whole <- err == nil && strings.HasSuffix(string(text), "data: [DONE]\n\n")
	}()
	return whole
}

// awaitUp returns when the engine answers.
func (e *simEngine) awaitUp() {
	e.t.Helper()
	daemontest.Await(e.t, "the engine at "+e.url+" answers", func() bool {
		answer, err := http.Get(e.url + "/health")
		if err != nil {
			return false
		}
		return answer.Body.Close() == nil
	})
}

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
