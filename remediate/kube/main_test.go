package kube

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/gpuhealthd/gpuhealthd/remediate"
	"github.com/gpuhealthd/gpuhealthd/test/kubetest"
)

// shared is the real API server of all tests here but those that stop it.
var shared kubetest.Shared

func TestMain(m *testing.M) {
	defer shared.Stop()
	m.Run()
}

// requests counts what went over the wire.
type requests struct {
	mu   sync.Mutex
	seen map[string]int
}

func (r *requests) observe(verb, resource, code string, _ time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.seen == nil {
		r.seen = map[string]int{}
	}
	r.seen[fmt.Sprintf("%s %s %s", verb, resource, code)]++
}

// count sums the requests whose description begins with prefix.
func (r *requests) count(prefix string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	sum := 0
	for what, n := range r.seen {
		if strings.HasPrefix(what, prefix) {
			sum += n
		}
	}
	return sum
}

// bench is one Node with us and an administrator beside it.
type bench struct {
	*Node
	requests requests
	admin    kubernetes.Interface
}

// onNode creates a Node named after the test.
func onNode(t *testing.T, cluster *kubetest.Cluster) *bench {
	t.Helper()
	name := nodeName(t)
	cluster.CreateNode(t, name)
	return with(t, cluster, name, cluster.Admin())
}

func nodeName(t *testing.T) string {
	return strings.NewReplacer("/", "-", "_", "-", ",", "", "'", "").Replace(strings.ToLower(t.Name()))
}

// with connects to a Node by a configuration of our own.
func with(t *testing.T, cluster *kubetest.Cluster, name string, config *rest.Config) *bench {
	t.Helper()
	b := &bench{admin: kubernetes.NewForConfigOrDie(cluster.Admin())}
	node, err := New(Options{
		Name:    name,
		Config:  config,
		Log:     slog.New(slog.NewTextHandler(io.Discard, nil)),
		Observe: b.requests.observe,
	})
	if err != nil {
		t.Fatal(err)
	}
	b.Node = node
	return b
}

// watching runs the watch and returns once it has brought the Node. The
// channel gets a value for each change later.
func (b *bench) watching(t *testing.T) <-chan struct{} {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	told, done := make(chan struct{}, 100), make(chan struct{})
	go func() {
		defer close(done)
		b.Watch(ctx, func() { told <- struct{}{} })
	}()
	t.Cleanup(func() { cancel(); <-done })
	b.await(t, told, func(remediate.Observed) bool { return true })
	return told
}

// await returns when the watch has told of a change after which the Node fits.
func (b *bench) await(t *testing.T, told <-chan struct{}, fits func(remediate.Observed) bool) {
	t.Helper()
	for limit := time.After(20 * time.Second); ; {
		select {
		case <-told:
			if have, _ := b.mirror.current(); fits(have.observed()) {
				return
			}
		case <-limit:
			have, _ := b.mirror.current()
			t.Fatalf("the watch did not say it; last %+v", have.observed())
		}
	}
}

func (b *bench) apply(t *testing.T, want remediate.Desired) remediate.Observed {
	t.Helper()
	got, err := b.Apply(t.Context(), want)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// object reads the Node past our client.
func (b *bench) object(t *testing.T) *corev1.Node {
	t.Helper()
	node, err := b.admin.CoreV1().Nodes().Get(t.Context(), b.options.Name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return node
}

// edit is what an administrator or another agent does to the Node, by a JSON
// merge patch.
func (b *bench) edit(t *testing.T, patch string) {
	t.Helper()
	_, err := b.admin.CoreV1().Nodes().Patch(t.Context(), b.options.Name, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	if err != nil {
		t.Fatal(err)
	}
}

const (
	cordon   = `{"spec":{"unschedulable":true}}`
	uncordon = `{"spec":{"unschedulable":null}}`
)

func number(n int) *int { return &n }

func healthy() remediate.Desired {
	return remediate.Desired{
		State:       remediate.Healthy,
		GPUsHealthy: number(8),
		GPU:         remediate.Condition{Status: "True", Reason: "AllGPUsHealthy", Message: "8 of 8 GPUs healthy"},
		NVLink:      remediate.Condition{Status: "True", Reason: "AllLinksUp", Message: "all links up"},
	}
}

// quarantined is an open incident of XID 79.
func quarantined(incident string) remediate.Desired {
	return remediate.Desired{
		State:       remediate.Quarantined,
		Fault:       "xid-79",
		Radius:      "node",
		GPUsHealthy: number(7),
		Quarantine:  true,
		Note: &remediate.Note{
			ID: incident, Opened: time.Date(2026, 11, 30, 9, 0, 0, 0, time.UTC), Fault: "xid-79",
			GPUs: []string{"GPU-6f4e2d1c-0000-0000-0000-000000000003"}, Radius: "node", Action: "reboot", Step: "cordon",
		},
		GPU:    remediate.Condition{Status: "False", Reason: "Xid79", Message: "GPU 0000:3b:00 has fallen off the bus"},
		NVLink: remediate.Condition{Status: "Unknown", Reason: "GPULost", Message: "a GPU cannot be asked"},
	}
}

// suspect is an incident that is told and not contained.
func suspect(incident string) remediate.Desired {
	want := quarantined(incident)
	want.State, want.Quarantine = remediate.Suspect, false
	return want
}
