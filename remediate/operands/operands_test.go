package operands

import (
	"context"
	"encoding/json"
	"maps"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/gpuhealthd/gpuhealthd/remediate/apiserver"
	"github.com/gpuhealthd/gpuhealthd/test/kubetest"
)

var shared kubetest.Shared

func TestMain(m *testing.M) {
	defer shared.Stop()
	m.Run()
}

const (
	plugin   = "nvidia.com/gpu.deploy.device-plugin"
	dcgm     = "nvidia.com/gpu.deploy.dcgm"
	exporter = "nvidia.com/gpu.deploy.dcgm-exporter"
	driver   = "nvidia.com/gpu.deploy.driver"
)

// found are the labels of a Node that the operator has made its own.
func found() map[string]string {
	return map[string]string{
		plugin: "true", dcgm: "false", exporter: "paused-for-driver-upgrade", driver: "true", "rack": "7",
	}
}

// bench is a Node with an operator's labels.
type bench struct {
	*Operands
	admin kubernetes.Interface
	name  string
}

func newBench(t *testing.T, labels map[string]string) *bench {
	t.Helper()
	cluster := shared.Cluster(t)
	b := &bench{admin: kubernetes.NewForConfigOrDie(cluster.Admin()), name: strings.ToLower(t.Name())}
	cluster.CreateNode(t, b.name)
	b.label(t, labels)
	b.Operands = b.agent(t, cluster.Admin())
	return b
}

// agent is one life of the agent.
func (b *bench) agent(t *testing.T, config *rest.Config) *Operands {
	t.Helper()
	return operandsOf(t, Config{Node: b.name, Labels: Labels(), Wait: 20 * time.Second}, config)
}

func operandsOf(t *testing.T, config Config, server *rest.Config) *Operands {
	t.Helper()
	client, err := apiserver.New(server, nil)
	must(t, err)
	o, err := New(config, client)
	must(t, err)
	return o
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (b *bench) label(t *testing.T, labels map[string]string) {
	t.Helper()
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"labels": labels}})
	must(t, err)
	_, err = b.admin.CoreV1().Nodes().Patch(t.Context(), b.name, types.MergePatchType, patch, metav1.PatchOptions{})
	must(t, err)
}

// says fails the test unless the Node has these labels, and no others.
func (b *bench) says(t *testing.T, want map[string]string) {
	t.Helper()
	node, err := b.admin.CoreV1().Nodes().Get(t.Context(), b.name, metav1.GetOptions{})
	must(t, err)
	if !maps.Equal(node.Labels, want) {
		t.Errorf("labels %v, want %v", node.Labels, want)
	}
}

// withPause is what Pause makes of them.
func withPause(labels map[string]string) map[string]string {
	labels[plugin] = "paused-by-gpuhealthd.true"
	return labels
}

func TestPauseAndRestore(t *testing.T) {
	b := newBench(t, found())
	for range 2 {
		must(t, b.Pause(t.Context()))
		b.says(t, withPause(found()))
	}
	// Another agent, with another idea of which services there are.
	next := b.agent(t, shared.Cluster(t).Admin())
	next.config.Labels = []string{dcgm}
	for range 2 {
		must(t, next.Restore(t.Context()))
		b.says(t, found())
	}
}

// A label that an administrator has changed meanwhile is not ours to restore.
func TestRestoreLeavesOthersAlone(t *testing.T) {
	b := newBench(t, found())
	must(t, b.Pause(t.Context()))
	b.label(t, map[string]string{plugin: "false"})
	must(t, b.Restore(t.Context()))
	want := found()
	want[plugin] = "false"
	b.says(t, want)
}

// The pods go because their DaemonSet's node selector fits no longer; here the test
// is the DaemonSet's controller and the kubelet.
func TestPauseWaitsForPods(t *testing.T) {
	b := newBench(t, found())
	pods := b.admin.CoreV1().Pods("default")
	for name, selector := range map[string]map[string]string{"plugin": {plugin: "true"}, "driver": {driver: "true"}, "job": nil} {
		pod := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: b.name + "-" + name},
			Spec: corev1.PodSpec{
				NodeName: b.name, NodeSelector: selector,
				Containers: []corev1.Container{{Name: "c", Image: "example.invalid/none"}},
			},
		}
		_, err := pods.Create(t.Context(), pod, metav1.CreateOptions{})
		must(t, err)
	}
	ended := make(chan error, 1)
	go func() { ended <- b.Pause(t.Context()) }()
	b.awaits(t, withPause(found()))
	if left, err := b.running(t.Context()); err != nil || !left {
		t.Errorf("a pod is left: %v, %v", left, err)
	}
	select {
	case err := <-ended:
		t.Fatalf("it did not wait: %v", err)
	default:
	}
	now := int64(0)
	must(t, pods.Delete(t.Context(), b.name+"-plugin", metav1.DeleteOptions{GracePeriodSeconds: &now}))
	must(t, <-ended)
	if left, err := b.running(t.Context()); err != nil || left {
		t.Errorf("a pod is left: %v, %v", left, err)
	}
}

// awaits returns once the Node has these labels.
func (b *bench) awaits(t *testing.T, want map[string]string) {
	t.Helper()
	for range 1000 {
		node, err := b.admin.CoreV1().Nodes().Get(t.Context(), b.name, metav1.GetOptions{})
		must(t, err)
		if maps.Equal(node.Labels, want) {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatalf("the Node never had the labels %v", want)
}

// A pod that does not go is no error: whether it holds a GPU is found out otherwise.
func TestPauseHasAnEnd(t *testing.T) {
	b := newBench(t, found())
	b.config.Wait = 100 * time.Millisecond
	_, err := b.admin.CoreV1().Pods("default").Create(t.Context(), &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: b.name},
		Spec: corev1.PodSpec{NodeName: b.name, NodeSelector: map[string]string{dcgm: "true"},
			Containers: []corev1.Container{{Name: "c", Image: "example.invalid/none"}}},
	}, metav1.CreateOptions{})
	must(t, err)
	must(t, b.Pause(t.Context()))
	b.says(t, withPause(found()))
}

func TestNoNode(t *testing.T) {
	b := newBench(t, found())
	must(t, b.admin.CoreV1().Nodes().Delete(t.Context(), b.name, metav1.DeleteOptions{}))
	must(t, b.Pause(t.Context()))
	must(t, b.Restore(t.Context()))
}

func TestForbidden(t *testing.T) {
	b := newBench(t, found())
	config := shared.Cluster(t).Admin()
	config.Impersonate = rest.ImpersonationConfig{UserName: "nobody"}
	o := b.agent(t, config)
	if err := o.Pause(t.Context()); err == nil || !strings.Contains(err.Error(), "pause on node "+b.name) || !strings.Contains(err.Error(), "forbidden") {
		t.Errorf("error %v", err)
	}
	b.says(t, found())
}

// Without an API server the way back is tried until the end of its time.
func TestUnreachable(t *testing.T) {
	o := operandsOf(t, Config{Node: "n", Labels: Labels(), Wait: time.Second}, &rest.Config{Host: "https://127.0.0.1:1"})
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if err := o.Restore(ctx); err == nil || !strings.Contains(err.Error(), "restore on node n") {
		t.Errorf("error %v", err)
	}
	if _, err := New(Config{Labels: Labels()}, nil); err == nil {
		t.Error("no node is accepted")
	}
}
