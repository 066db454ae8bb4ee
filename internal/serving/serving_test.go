package serving

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	collect "github.com/gpuhealthd/gpuhealthd/collector/serving"
	"github.com/gpuhealthd/gpuhealthd/serving"
	sim "github.com/gpuhealthd/gpuhealthd/sim/serving"
)

func TestReplicasAndJobs(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	_, vllm := b.engine(sim.Options{Ranks: 2})
	_, sglang := b.engine(sim.Options{Kind: "sglang"})
	b.pod("a-replica", map[string]string{AnnotationPort: vllm + "," + sglang})
	b.kubelet.Give(b.name, "a-replica", resource, "GPU-1", "GPU-0")
	b.pod("b-guessed", map[string]string{prometheusScrape: "true", prometheusPort: sglang})
	b.kubelet.Give(b.name, "b-guessed", "nvidia.com/mig-1g.10gb", "MIG-31")
	b.pod("c-router", map[string]string{AnnotationPort: vllm})
	b.pod("d-training", nil)
	b.kubelet.Claim(b.name, "d-training", "gpu.nvidia.com", "gpu-2", "nvidia.com/gpu=GPU-2")
	b.pod("e-wrong", map[string]string{AnnotationPort: "http"})
	b.kubelet.Give(b.name, "e-wrong", "nvidia.com/mig-1g.10gb", "MIG-30")
	b.pod("f-ended", map[string]string{AnnotationPort: vllm}, func(pod *corev1.Pod) { pod.Status.Phase = corev1.PodSucceeded })
	b.kubelet.Give(b.name, "f-ended", resource, "GPU-0")
	b.start()
	s := b.await("a-replica of [GPU-0 GPU-1], decode: 0 vllm with 2", "a-replica of [GPU-0 GPU-1], decode: 0 sglang with 1",
		"b-guessed of [MIG-31], decode: 0 sglang with 1", "job d-training of [GPU-2]", "job e-wrong of [MIG-30]")
	first := s.scrapes[0]
	if first.Replica.UID == "" || first.Alive == nil || !*first.Alive || !strings.HasSuffix(first.Replica.Life, ":0:a-replica") {
		t.Errorf("got %+v", first)
	}
	if l, known := b.serving.Load(first.Replica.UID); !known || l.Running == nil || *l.Running != 0 || l.At.IsZero() {
		t.Errorf("load %+v, %t", l, known)
	}
	if _, known := b.serving.Load(s.jobs[0].UID); known {
		t.Error("a job has a load")
	}
}

// foreign serves metrics of no engine, and gives the port.
func foreign(t *testing.T) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "node_load1 1") }))
	t.Cleanup(server.Close)
	_, port, _ := net.SplitHostPort(server.Listener.Addr().String())
	return port
}

// A pod that tells Prometheus of itself and is no engine is a job.
func TestForeignGuess(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	port := foreign(t)
	b.pod("guessed", map[string]string{prometheusScrape: "true", prometheusPort: port})
	b.kubelet.Give(b.name, "guessed", resource, "GPU-0")
	b.pod("named", map[string]string{AnnotationPort: port})
	b.kubelet.Give(b.name, "named", resource, "GPU-1")
	b.start()
	b.await("named of [GPU-1], decode: 5  with 0", "job guessed of [GPU-0]")
}

// Until the kubelet has said who was given what, nothing is told: who serves would seem
// to be gone.
func TestNothingIsToldBeforeTheKubelet(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	_, port := b.engine(sim.Options{})
	b.pod("replica", map[string]string{AnnotationPort: port})
	b.kubelet.Give(b.name, "replica", resource, "GPU-0")
	b.start()
	if first := b.tell(<-b.out); first != "replica of [GPU-0], decode: 0 vllm with 1" {
		t.Errorf("the first look is %q", first)
	}
}

func TestChanges(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	engine, port := b.engine(sim.Options{})
	b.start()
	b.await()
	pod := b.pod("replica", map[string]string{AnnotationPort: port})
	b.kubelet.Give(b.name, "replica", resource, "GPU-0")
	life := b.await("replica of [GPU-0], decode: 0 vllm with 1").scrapes[0].Replica.Life

	if err := engine.Fault("hang-metrics on"); err != nil {
		t.Fatal(err)
	}
	silent := b.await("replica of [GPU-0], decode: 2  with 0").scrapes[0]
	if silent.Alive == nil || !*silent.Alive || silent.Replica.Life != life {
		t.Errorf("silent: %+v", silent)
	}
	if l, known := b.serving.Load(string(pod.UID)); !known || l.Running != nil {
		t.Errorf("of a silent one: %+v, %t", l, known)
	}
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{container("engine", "containerd://anew", 1, true)}
	pod = b.status(pod)
	if err := engine.Fault("well"); err != nil {
		t.Fatal(err)
	}
	for b.await("replica of [GPU-0], decode: 0 vllm with 1").scrapes[0].Replica.Life == life {
		// The change is on its way.
	}
	now := int64(0)
	if err := b.admin.CoreV1().Pods(b.name).Delete(t.Context(), pod.Name, metav1.DeleteOptions{GracePeriodSeconds: &now}); err != nil {
		t.Fatal(err)
	}
	b.await()
	if l, _ := b.serving.Load(string(pod.UID)); l.Running != nil || !l.At.IsZero() {
		t.Errorf("a pod that is gone has a load: %+v", l)
	}
}

// Before it was asked, nobody says of a pod that it has no engine: not before the pods are
// known, and not while another keeps the first answers waiting.
func TestLoadOfWhoWasNotAskedYet(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	_, port := b.engine(sim.Options{})
	hangs, silent := b.engine(sim.Options{})
	if err := hangs.Fault("hang-metrics on"); err != nil {
		t.Fatal(err)
	}
	pod := b.pod("replica", map[string]string{AnnotationPort: port})
	b.pod("silent", map[string]string{AnnotationPort: silent})
	job := b.pod("job", nil)
	for n, name := range []string{"replica", "silent", "job"} {
		b.kubelet.Give(b.name, name, resource, fmt.Sprintf("GPU-%d", n))
	}
	var err error
	if b.serving.scraper, err = collect.New(collect.Options{Targets: b.serving.targets, Period: time.Hour, Deadline: time.Hour, Dialects: dialects(t)}); err != nil {
		t.Fatal(err)
	}
	if l, may := b.serving.Load(string(job.UID)); !may || !l.At.IsZero() {
		t.Errorf("before the first look: %+v, %t", l, may)
	}
	b.start()
	for limit := time.Now().Add(30 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		if _, may := b.serving.Load(string(job.UID)); !may {
			break
		}
		if time.Now().After(limit) {
			t.Fatal("a job may have an engine for ever")
		}
	}
	if l, may := b.serving.Load(string(pod.UID)); !may || !l.At.IsZero() || len(b.out) > 0 {
		t.Errorf("while the first look lasts: %+v, %t", l, may)
	}
}

// A list of the kubelet's without a pod that runs does not end it.
func TestTheKubeletForgets(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	_, port := b.engine(sim.Options{})
	b.pod("replica", map[string]string{AnnotationPort: port})
	b.kubelet.Give(b.name, "replica", resource, "GPU-0")
	b.start()
	b.await("replica of [GPU-0], decode: 0 vllm with 1")
	b.kubelet.Take(b.name, "replica")
	b.pod("other", nil) // has the kubelet asked
	for began := time.Now(); time.Since(began) < 5*time.Second; {
		if got := b.tell(<-b.out); got != "replica of [GPU-0], decode: 0 vllm with 1" {
			t.Fatalf("it is gone: %q", got)
		}
	}
}

// Without an API server the site's own list is all there is.
func TestWithoutPods(t *testing.T) {
	b := &bench{t: t, out: make(chan seen, 1000)}
	_, port := b.engine(sim.Options{Kind: "tgi"})
	var err error
	b.serving, err = New(Options{Engines: []Engine{{Name: "own", URLs: []string{"http://127.0.0.1:" + port + "/metrics"}, GPUs: []string{"GPU-0"}}},
		Period: 100 * time.Millisecond, Deadline: 100 * time.Millisecond, Dialects: dialects(t), Proc: "/proc"})
	if err != nil {
		t.Fatal(err)
	}
	b.start()
	if s := b.await("own of [GPU-0], : 0 tgi with 1"); s.scrapes[0].Answer != serving.Answered || s.jobs != nil {
		t.Errorf("got %+v", s)
	}
}

func TestNewRefuses(t *testing.T) {
	config := shared.Cluster(t).Admin()
	for want, o := range map[string]Options{
		"no node name":    {Config: config},
		"nobody to ask":   {Config: config, Node: "n"},
		"engine a: want":  {Engines: []Engine{{Name: "a"}}},
		`process "vllm":`: {Engines: []Engine{{Name: "a", Process: "vllm"}}},
		"period 0s":       {},
	} {
		if _, err := New(o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
