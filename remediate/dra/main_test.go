package dra

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/gpuhealthd/gpuhealthd/remediate"
	"github.com/gpuhealthd/gpuhealthd/remediate/apiserver"
	"github.com/gpuhealthd/gpuhealthd/test/kubetest"
)

// shared is the real API server of all tests here.
var shared kubetest.Shared

func TestMain(m *testing.M) {
	defer shared.Stop()
	m.Run()
}

// bench is a fencer of one node, and an administrator.
type bench struct {
	*Fencer
	t     *testing.T
	admin kubernetes.Interface
	mu    sync.Mutex
	calls []string
}

func newBench(t *testing.T, node string, config *rest.Config) *bench {
	t.Helper()
	b := &bench{t: t, admin: kubernetes.NewForConfigOrDie(shared.Cluster(t).Admin())}
	custom, err := apiserver.NewCustom(config, func(verb, resource, code string, _ time.Duration) {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.calls = append(b.calls, verb+" "+resource+" "+code)
	})
	if err != nil {
		t.Fatal(err)
	}
	b.Fencer = New(node, custom)
	return b
}

// take gives what was called since the last time.
func (b *bench) take() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	all := strings.Join(b.calls, ", ")
	b.calls = nil
	return all
}

// slice publishes devices as NVIDIA's driver does on a node.
func (b *bench) slice(name, driver, pool string, generation int64, devices ...resourcev1.Device) {
	b.t.Helper()
	s := &resourcev1.ResourceSlice{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: resourcev1.ResourceSliceSpec{
		Driver: driver, NodeName: &b.node, Pool: resourcev1.ResourcePool{Name: pool, Generation: generation, ResourceSliceCount: 1}, Devices: devices}}
	if _, err := b.admin.ResourceV1().ResourceSlices().Create(b.t.Context(), s, metav1.CreateOptions{}); err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() {
		_ = b.admin.ResourceV1().ResourceSlices().Delete(context.Background(), name, metav1.DeleteOptions{})
	})
}

// dev is a device with attributes, as name=value.
func dev(name string, attributes ...string) resourcev1.Device {
	d := resourcev1.Device{Name: name, Attributes: map[resourcev1.QualifiedName]resourcev1.DeviceAttribute{}}
	for _, a := range attributes {
		key, value, _ := strings.Cut(a, "=")
		d.Attributes[resourcev1.QualifiedName(key)] = resourcev1.DeviceAttribute{StringValue: &value}
	}
	return d
}

// fence asks for fences of GPUs, and must get an answer.
func (b *bench) fence(want ...remediate.Fence) []remediate.Fenced {
	b.t.Helper()
	all, err := b.Fence(b.t.Context(), want)
	if err != nil {
		b.t.Fatal(err)
	}
	return all
}

// rules are those of all nodes, as pool/device=fault.
func (b *bench) rules() (all []string) {
	b.t.Helper()
	list, err := b.admin.ResourceV1().DeviceTaintRules().List(b.t.Context(), metav1.ListOptions{})
	if err != nil {
		b.t.Fatal(err)
	}
	for _, r := range list.Items {
		s, taint := r.Spec.DeviceSelector, r.Spec.Taint
		if *s.Pool != b.node {
			continue
		}
		if *s.Driver != Driver || taint.Key != remediate.TaintQuarantine || taint.Effect != resourcev1.DeviceTaintEffectNoSchedule {
			b.t.Errorf("rule %s: %+v", r.Name, r.Spec)
		}
		all = append(all, fmt.Sprintf("%s=%s", *s.Device, taint.Value))
	}
	slices.Sort(all)
	return all
}

func (b *bench) want(rules ...string) {
	b.t.Helper()
	if got := b.rules(); !slices.Equal(got, rules) {
		b.t.Errorf("rules %q, want %q", got, rules)
	}
}

func of(gpu string) remediate.Fence { return remediate.Fence{GPU: gpu, Fault: "xid-48"} }

var errBroken = errors.New("the wire broke")

// relied is a fence on which the node relies from now on.
func relied(f remediate.Fenced) remediate.Fence {
	f.Since = time.Now()
	return f.Fence
}
