package pods

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// The workloads hold GPUs, whether they use them or not, and so do services, which
// are told apart; pods that have ended do not, unless a process is left.
func TestOccupancy(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	busy := b.run("busy")
	b.run("idle")
	b.run("ended", func(pod *corev1.Pod) { pod.Status.Phase = corev1.PodFailed })
	lingers := b.run("lingers", func(pod *corev1.Pod) { pod.Status.Phase = corev1.PodSucceeded })
	b.kubelet.Give(b.name, "busy", resource, "GPU-0", "GPU-1")
	b.kubelet.Give(b.name, "idle", resource, "GPU-1::0")
	b.kubelet.Give(b.name, "ended", resource, "GPU-3")
	b.hold(0, busy)
	b.hold(2, lingers)
	b.hold(2, b.run("exporter", daemonSet))
	b.hold(2, nil)
	orphan := *busy
	orphan.UID = "11111111-2222-3333-4444-555555555555"
	b.hold(3, &orphan)

	occupancy := b.Occupancy(t.Context())
	if occupancy.Unknown != "" || occupancy.At.IsZero() {
		t.Errorf("%+v", occupancy)
	}
	var got []string
	for _, h := range occupancy.Holders {
		got = append(got, fmt.Sprintf("%s %s %s %t %t", h.GPU, strings.TrimPrefix(h.Pod, b.name+"/"), h.Process, h.PID != 0, h.Service))
	}
	slices.Sort(got)
	want := []string{
		"GPU-0 busy sleep true false",
		"GPU-1 busy  false false",
		"GPU-1 idle  false false",
		"GPU-2  sleep true true",
		"GPU-2 exporter sleep true true",
		"GPU-2 lingers sleep true false",
		"GPU-3  sleep true false",
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
