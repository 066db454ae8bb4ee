package pods

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/gpuhealthd/gpuhealthd/fault"
	"github.com/gpuhealthd/gpuhealthd/remediate"
	"github.com/gpuhealthd/gpuhealthd/remediate/holders"
	"github.com/gpuhealthd/gpuhealthd/test/kubelet"
	"github.com/gpuhealthd/gpuhealthd/test/kubetest"
	"github.com/gpuhealthd/gpuhealthd/test/process"
	"github.com/gpuhealthd/gpuhealthd/xidparse"
)

// shared is the real API server of all tests here.
var shared kubetest.Shared

func TestMain(m *testing.M) {
	defer shared.Stop()
	m.Run()
}

const resource = "nvidia.com/gpu"

func number(n int) *int { return &n }

// device is one of four GPUs: GPU-0 to GPU-3.
func device(n int) fault.Device {
	return fault.Device{UUID: fmt.Sprintf("GPU-%d", n), PCI: xidparse.PCI{Bus: uint8(0x1a + n)}}
}

// four GPUs whose index is not the number of their device file.
func four() (gpus []GPU) {
	for n := range 4 {
		gpus = append(gpus, GPU{
			GPU:       holders.GPU{Device: device(n), Minor: number(n)},
			Index:     number(3 - n),
			Instances: []string{fmt.Sprintf("MIG-%d0", n), fmt.Sprintf("MIG-%d1", n)},
		})
	}
	return gpus
}

// bench is a node with its kubelet, its processes and its pods, which are in a
// namespace of its name.
type bench struct {
	*Pods
	t       *testing.T
	name    string
	admin   kubernetes.Interface
	kubelet *kubelet.Kubelet
	proc    string
	dev     string
	log     syncBuffer

	requests chan string // verb, resource and code of each
	owed     chan string
	engines  engines
}

// syncBuffer is a buffer for several goroutines.
type syncBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *syncBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

func newBench(t *testing.T) *bench {
	t.Helper()
	cluster := shared.Cluster(t)
	// Namespaces outlive the test: nobody runs who would take them away.
	name := fmt.Sprintf("%s-%x", strings.ToLower(strings.ReplaceAll(t.Name(), "/", "-")), rand.Uint32())
	cluster.CreateNode(t, name)
	b := &bench{
		t: t, name: name, admin: kubernetes.NewForConfigOrDie(cluster.Admin()), kubelet: kubelet.Start(t),
		proc: t.TempDir(), dev: t.TempDir() + "/dev", requests: make(chan string, 10000), owed: make(chan string, 100),
	}
	if err := os.Mkdir(b.dev, 0o755); err != nil {
		t.Fatal(err)
	}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if _, err := b.admin.CoreV1().Namespaces().Create(t.Context(), namespace, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	b.restart()
	return b
}

// restart makes a new agent, which knows nothing of what was before.
func (b *bench) restart() {
	b.t.Helper()
	var err error
	b.Pods, err = New(Options{
		Node: b.name, Self: types.NamespacedName{Namespace: b.name, Name: "gpuhealthd"},
		Config: shared.Cluster(b.t).Admin(), Log: slog.New(slog.NewJSONHandler(&b.log, nil)),
		Observe: func(verb, resource, code string, _ time.Duration) { b.requests <- verb + " " + resource + " " + code },
		Socket:  b.kubelet.Socket, Resources: DefaultResources(), GPUs: four,
		Processes: func(gpus []holders.GPU) holders.Found {
			return holders.Scan(holders.Options{Proc: b.proc, Dev: b.dev, GPUs: gpus})
		},
		Serving: b.engines.load, Ceiling: DefaultCeiling,
	})
	if err != nil {
		b.t.Fatal(err)
	}
}

// await returns when one more request of that description was answered.
func (b *bench) await(request string) {
	b.t.Helper()
	for limit := time.After(30 * time.Second); ; {
		select {
		case seen := <-b.requests:
			if seen == request {
				return
			}
		case <-limit:
			b.t.Fatalf("no request: %s", request)
		}
	}
}

// run creates a pod of a ReplicaSet that runs on the node, changed as wanted.
func (b *bench) run(name string, change ...func(*corev1.Pod)) *corev1.Pod {
	b.t.Helper()
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: b.name, Labels: map[string]string{"app": "serve", LabelInRotation: "yes"}},
		Spec:       corev1.PodSpec{NodeName: b.name, Containers: []corev1.Container{{Name: "c", Image: "example.com/serve:1"}}},
		Status: corev1.PodStatus{
			Phase:      corev1.PodRunning,
			Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}},
		},
	}
	owned(pod, "apps/v1", "ReplicaSet")
	for _, f := range change {
		f(pod)
	}
	status := pod.Status
	pods := b.admin.CoreV1().Pods(b.name)
	made, err := pods.Create(b.t.Context(), pod, metav1.CreateOptions{})
	if err != nil {
		b.t.Fatal(err)
	}
	made.Status = status
	if made, err = pods.UpdateStatus(b.t.Context(), made, metav1.UpdateOptions{}); err != nil {
		b.t.Fatal(err)
	}
	return made
}

// owned gives a pod a controller.
func owned(pod *corev1.Pod, version, kind string) {
	yes := true
	pod.OwnerReferences = []metav1.OwnerReference{{APIVersion: version, Kind: kind, Name: "owner", UID: "1", Controller: &yes}}
}

// daemonSet makes a pod one of a DaemonSet.
func daemonSet(pod *corev1.Pod) { owned(pod, "apps/v1", "DaemonSet") }

// get returns a pod, nil where there is none.
func (b *bench) get(name string) *corev1.Pod {
	b.t.Helper()
	pod, err := b.admin.CoreV1().Pods(b.name).Get(b.t.Context(), name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		b.t.Fatal(err)
	}
	return pod
}

// awaitGone returns when there is no such pod.
func (b *bench) awaitGone(name string) {
	b.t.Helper()
	for limit := time.Now().Add(30 * time.Second); b.get(name) != nil; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(limit) {
			b.t.Fatalf("pod %s is still there", name)
		}
	}
}

// hold starts a real process that has the device file of a GPU open, in the cgroup
// of a pod, or outside of any.
func (b *bench) hold(gpu int, pod *corev1.Pod) *process.Process {
	b.t.Helper()
	file, err := os.OpenFile(fmt.Sprintf("%s/nvidia%d", b.dev, gpu), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		b.t.Fatal(err)
	}
	defer file.Close()
	cmd := exec.Command("sleep", "1000")
	cmd.Stdin = file
	p, err := process.Start(filepath.Join(b.t.TempDir(), "log"), cmd)
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(p.Kill)
	// The real process in all but its cgroup.
	folder, cgroup := fmt.Sprintf("%s/%d", b.proc, p.PID()), "0::/system.slice/nvidia-persistenced.service\n"
	if pod != nil {
		cgroup = "0::/kubepods/pod" + string(pod.UID) + "/1\n"
	}
	if err := os.Mkdir(folder, 0o755); err != nil {
		b.t.Fatal(err)
	}
	for _, name := range []string{"comm", "fd", "task"} {
		if err := os.Symlink(fmt.Sprintf("/proc/%d/%s", p.PID(), name), folder+"/"+name); err != nil {
			b.t.Fatal(err)
		}
	}
	if err := os.WriteFile(folder+"/cgroup", []byte(cgroup), 0o600); err != nil {
		b.t.Fatal(err)
	}
	return p
}

// deed is a drain of GPUs for XID 95.
func deed(gpus ...int) remediate.Deed {
	d := remediate.Deed{ID: "drain-1", Kind: remediate.StepDrain, Fault: "xid-95", Incidents: []string{"boot/7"}, Reason: "uncontained memory error"}
	for _, n := range gpus {
		d.GPUs = append(d.GPUs, device(n))
	}
	return d
}

// onDisk takes in what a deed owes.
func (b *bench) onDisk(_ context.Context, undo string) error {
	b.owed <- undo
	return nil
}

// drain does a deed until its end.
func (b *bench) drain(d remediate.Deed) remediate.Outcome {
	return b.Do(b.t.Context(), d, b.onDisk)
}

// start begins a drain; the channel gets its outcome, and the function ends it.
// Earlier requests are forgotten.
func (b *bench) start(d remediate.Deed) (<-chan remediate.Outcome, context.CancelFunc) {
	for len(b.requests) > 0 {
		<-b.requests
	}
	ctx, cancel := context.WithCancel(b.t.Context())
	outcome := make(chan remediate.Outcome, 1)
	go func() { outcome <- b.Do(ctx, d, b.onDisk) }()
	b.t.Cleanup(cancel)
	return outcome, cancel
}
