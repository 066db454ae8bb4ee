package serving

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/gpuhealthd/gpuhealthd/fault"
	"github.com/gpuhealthd/gpuhealthd/remediate/holders"
	"github.com/gpuhealthd/gpuhealthd/remediate/pods"
	"github.com/gpuhealthd/gpuhealthd/serving"
	sim "github.com/gpuhealthd/gpuhealthd/sim/serving"
	"github.com/gpuhealthd/gpuhealthd/test/kubelet"
	"github.com/gpuhealthd/gpuhealthd/test/kubetest"
)

// shared is the real API server of all tests here.
var shared kubetest.Shared

func TestMain(m *testing.M) {
	defer shared.Stop()
	m.Run()
}

const resource = "nvidia.com/gpu"

// seen is one call out.
type seen struct {
	scrapes []serving.Scrape
	jobs    []serving.Job
}

// bench is a node with four GPUs, its kubelet, and the agent's part that is tested.
type bench struct {
	t       *testing.T
	name    string // of the node, and of the namespace of its pods
	admin   kubernetes.Interface
	kubelet *kubelet.Kubelet
	serving *Serving
	out     chan seen
}

func newBench(t *testing.T) *bench { return newBenchOf(t, false) }

// newBenchOf is one at which each life of a pod is on trial, or not.
func newBenchOf(t *testing.T, every bool) *bench {
	t.Helper()
	cluster := shared.Cluster(t)
	b := &bench{t: t, name: fmt.Sprintf("serving-%x", rand.Uint32()), admin: kubernetes.NewForConfigOrDie(cluster.Admin()),
		kubelet: kubelet.Start(t), out: make(chan seen, 1000)}
	cluster.CreateNode(t, b.name)
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: b.name}}
	if _, err := b.admin.CoreV1().Namespaces().Create(t.Context(), namespace, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	granting, err := pods.New(pods.Options{Node: b.name, Config: cluster.Admin(), Socket: b.kubelet.Socket, Resources: pods.DefaultResources(), GPUs: four})
	if err != nil {
		t.Fatal(err)
	}
	b.serving, err = New(Options{Node: b.name, Config: cluster.Admin(), Grants: granting.Granted, Ports: []string{"metrics"}, Roles: roleLabels,
		Groups: groupLabels, RoleWords: roleWords(), Disaggregated: &Disaggregated{}, Proc: "/proc", Period: 200 * time.Millisecond, Deadline: 200 * time.Millisecond, Dialects: dialects(t), Log: slog.New(slog.DiscardHandler), Canary: true, Every: every, Settle: granting.Settle})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// four GPUs, the last of them in MIG mode.
func four() (gpus []pods.GPU) {
	for n := range 4 {
		gpus = append(gpus, pods.GPU{GPU: holders.GPU{Device: fault.Device{UUID: fmt.Sprintf("GPU-%d", n)}}})
	}
	gpus[3].Instances = []string{"MIG-30", "MIG-31"}
	return gpus
}

// start begins to look.
func (b *bench) start() {
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() {
		done <- b.serving.Run(ctx, func(scrapes []serving.Scrape, jobs []serving.Job) { b.out <- seen{scrapes, jobs} })
	}()
	b.t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			b.t.Error(err)
		}
	})
}

// pod creates a pod that runs on the node, at an address of this machine.
func (b *bench) pod(name string, annotations map[string]string, change ...func(*corev1.Pod)) *corev1.Pod {
	b.t.Helper()
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: b.name, Name: name, Annotations: annotations, Labels: map[string]string{"llm-d.ai/role": "decode"}},
		Spec:       corev1.PodSpec{NodeName: b.name, Containers: []corev1.Container{{Name: "engine", Image: "example.com/engine:1"}}},
	}
	pod.Status = corev1.PodStatus{Phase: corev1.PodRunning, PodIP: "127.0.0.1", PodIPs: []corev1.PodIP{{IP: "127.0.0.1"}},
		ContainerStatuses: []corev1.ContainerStatus{container("engine", "containerd://"+name, 0, true)}}
	for _, f := range change {
		f(pod)
	}
	status := pod.Status
	made, err := b.admin.CoreV1().Pods(b.name).Create(b.t.Context(), pod, metav1.CreateOptions{})
	if err != nil {
		b.t.Fatal(err)
	}
	made.Status = status
	return b.status(made)
}

func (b *bench) status(pod *corev1.Pod) *corev1.Pod {
	b.t.Helper()
	made, err := b.admin.CoreV1().Pods(b.name).UpdateStatus(b.t.Context(), pod, metav1.UpdateOptions{})
	if err != nil {
		b.t.Fatal(err)
	}
	return made
}

// engine starts a simulated one, and gives the port it is at.
func (b *bench) engine(o sim.Options) (*sim.Engine, string) {
	b.t.Helper()
	e, err := sim.New(o)
	if err != nil {
		b.t.Fatal(err)
	}
	server := httptest.NewServer(e)
	b.t.Cleanup(server.Close)
	_, port, err := net.SplitHostPort(server.Listener.Addr().String())
	if err != nil {
		b.t.Fatal(err)
	}
	return e, port
}

// tell is what was seen, one line for each replica's endpoint and each job, without
// what differs from run to run.
func (b *bench) tell(s seen) string {
	var lines []string
	for _, scrape := range s.scrapes {
		r := scrape.Replica
		lines = append(lines, fmt.Sprintf("%s of %v, %s: %d %s with %d", strings.TrimPrefix(r.Name, b.name+"/"), r.GPUs, r.Role, scrape.Answer, scrape.Dialect, len(scrape.Engines)))
	}
	for _, job := range s.jobs {
		lines = append(lines, fmt.Sprintf("job %s of %v", strings.TrimPrefix(job.Name, b.name+"/"), job.GPUs))
	}
	return strings.Join(lines, "\n")
}

// await returns what was seen when that is told so.
func (b *bench) await(want ...string) seen {
	b.t.Helper()
	last, text := "nothing", strings.Join(want, "\n")
	for limit := time.After(30 * time.Second); ; {
		select {
		case s := <-b.out:
			if last = b.tell(s); last == text {
				return s
			}
		case <-limit:
			b.t.Fatalf("seen last:\n%s\nwant:\n%s", last, text)
		}
	}
}

// The labels of llm-d, Dynamo and LeaderWorkerSet.
var (
	roleLabels  = []string{"llm-d.ai/role", "nvidia.com/dynamo-sub-component-type", "nvidia.com/dynamo-component-type"}
	groupLabels = []string{"nvidia.com/dynamo-graph-deployment-name", "llm-d.ai/model", "leaderworkerset.sigs.k8s.io/group-key"}
)

// roles are those of disaggregated serving, with the values that these labels have.
func roleWords() map[serving.Role][]string {
	return map[serving.Role][]string{serving.Prefill: {"prefill"}, serving.Decode: {"decode"}}
}
