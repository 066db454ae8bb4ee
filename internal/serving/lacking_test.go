package serving

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	quantity "k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/client-go/tools/cache"

	"github.com/gpuhealthd/gpuhealthd/serving"
	sim "github.com/gpuhealthd/gpuhealthd/sim/serving"
	"github.com/gpuhealthd/gpuhealthd/test/daemontest"
)

// asks gives a pod's engine a limit of one GPU.
func asks(pod *corev1.Pod) {
	pod.Spec.Containers[0].Resources.Limits = corev1.ResourceList{"nvidia.com/gpu": quantity.MustParse("1")}
}

// Who is not asked though he seems to serve is told, and what the kubelet says.
func TestWhoIsNotAsked(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	_, port := b.engine(sim.Options{})
	b.pod("a-wrong", map[string]string{AnnotationPort: port + ",99999"})
	b.pod("b-without", map[string]string{AnnotationPort: port})
	b.pod("c-one", map[string]string{AnnotationPort: port})
	b.pod("d-twin", map[string]string{AnnotationPort: port})
	b.pod("e-job", nil)
	b.pod("f-none", map[string]string{AnnotationPort: noPort})
	for n, name := range []string{"a-wrong", "c-one", "d-twin"} {
		b.kubelet.Give(b.name, name, resource, four()[n].UUID)
	}
	b.start()
	b.await("c-one of [GPU-1], decode: 0 vllm with 1", "d-twin of [GPU-2], decode: 0 vllm with 1", "job a-wrong of [GPU-0]")
	b.kubelet.Fail(errors.New("no list today"))
	b.pod("g-other", nil)
	want := []string{"a-wrong: \"99999\" is no port", "b-without: " + noGPU, "d-twin: " + b.name + "/c-one has the same endpoint"}
	var all []Unfound
	daemontest.Await(t, "all of it is told", func() bool {
		all = b.serving.Unfound()
		return len(all) == len(want) && len(b.serving.Troubles()) == 1
	})
	for n, u := range all {
		name, why, _ := strings.Cut(want[n], ": ")
		if strings.TrimPrefix(u.Replica, b.name+"/") != name || !strings.Contains(u.Why, why) {
			t.Errorf("told %+v, want %s", u, want[n])
		}
	}
	if why := b.serving.Troubles()[0]; !strings.Contains(why, "no list today") {
		t.Errorf("told %q", why)
	}
}

// A kubelet that does not know yet what it gave to a pod that asks for GPUs is asked until
// it does, though nothing else changes; and before that nobody seems to be gone.
func TestTheKubeletIsAskedAgain(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	_, port := b.engine(sim.Options{})
	b.pod("replica", map[string]string{AnnotationPort: port}, asks)
	b.start()
	time.Sleep(time.Second)
	b.kubelet.Give(b.name, "replica", resource, "GPU-0")
	if first := b.tell(<-b.out); first != "replica of [GPU-0], decode: 0 vllm with 1" {
		t.Errorf("the first look is %q", first)
	}
}

// What was asked of a pod that is gone by now is nobody's: its GPUs may be another's.
func TestWhoIsGoneMeanwhile(t *testing.T) {
	t.Parallel()
	there, ended := pod("10.0.0.1", nil), pod("10.0.0.2", nil)
	there.Name, there.UID, ended.Name, ended.UID, ended.Status.Phase = "there", "1", "ended", "2", corev1.PodFailed
	s := &Serving{pods: cache.NewStore(cache.MetaNamespaceKeyFunc)}
	for _, p := range []*corev1.Pod{there, ended} {
		if err := s.pods.Add(p); err != nil {
			t.Fatal(err)
		}
	}
	var list []serving.Scrape
	for _, uid := range []string{"1", "2", "3", ""} {
		list = append(list, serving.Scrape{Replica: serving.Replica{UID: uid}})
	}
	var left []string
	for _, scrape := range s.keep(list) {
		left = append(left, scrape.Replica.UID)
	}
	if !slices.Equal(left, []string{"1", ""}) {
		t.Errorf("kept those of %q", left)
	}
}
