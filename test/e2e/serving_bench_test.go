package e2e

import (
	"context"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gpuhealthd/gpuhealthd/internal/config"
)

const (
	// clients send one request after the other, each of up to so many tokens at 50 a second.
	clients, longest = 16, 400
	// heard is how long a router takes to hear of a pod that has left rotation.
	heard = 500 * time.Millisecond
	// ramp is how long the load takes to be what it is.
	ramp = 5 * time.Second
)

// BenchmarkRequestsLost drains the GPU of one of two replicas under load, and, to compare,
// deletes the pod at once. It counts the requests that were cut.
func BenchmarkRequestsLost(b *testing.B) {
	for _, way := range []struct {
		name  string
		leave func(h *servingHost)
	}{
		{"drained", func(h *servingHost) { h.sicken(0) }},
		{"deleted", func(h *servingHost) {
			h.engines["leaves"].Kill()
			now := int64(0)
			must(h.t, h.admin.CoreV1().Pods(h.name).Delete(h.t.Context(), "leaves", metav1.DeleteOptions{GracePeriodSeconds: &now}))
		}},
	} {
		b.Run(way.name, func(b *testing.B) {
			h := onServing(b)
			h.Config.Serving.DrainCeiling = config.Duration(30 * time.Second)
			for _, e := range []*simEngine{h.deploy("leaves", []int{0}, "-slots", "64"), h.deploy("stays", []int{1}, "-slots", "64")} {
				e.AwaitUp()
			}
			h.begins()
			for b.Loop() {
				lost := h.underLoad(func() {
					time.Sleep(ramp)
					way.leave(h)
					h.gone("leaves")
				})
				b.ReportMetric(lost, "lost")
				b.ReportMetric(0, "ns/op")
			}
		})
	}
}

// underLoad does something while clients send requests to the pods in rotation, and counts
// those that did not come to their end.
func (h *servingHost) underLoad(do func()) (lost float64) {
	ctx, stop := context.WithCancel(h.t.Context())
	defer stop()
	router := &router{h: h}
	router.look()
	var working sync.WaitGroup
	working.Go(func() { router.run(ctx) })
	var cut atomic.Int64
	for range clients {
		working.Go(func() {
			for ctx.Err() == nil {
				if !<-router.pick().ask(1, 1+rand.IntN(longest)) {
					cut.Add(1)
					time.Sleep(heard) // and tries elsewhere
				}
			}
		})
	}
	do()
	stop()
	working.Wait()
	return float64(cut.Load())
}

// router knows the pods in rotation, as a Service does.
type router struct {
	h  *servingHost
	mu sync.Mutex
	in []*simEngine
}

func (r *router) run(ctx context.Context) {
	for ctx.Err() == nil {
		time.Sleep(heard)
		r.look()
	}
}

// look lists the pods that carry the label and are not told to end.
func (r *router) look() {
	pods, err := r.h.admin.CoreV1().Pods(r.h.name).List(context.Background(), metav1.ListOptions{LabelSelector: inRotation})
	if err != nil {
		return // it goes by what it knows
	}
	var in []*simEngine
	for _, pod := range pods.Items {
		if pod.DeletionTimestamp == nil && pod.Status.Phase == corev1.PodRunning {
			in = append(in, r.h.engines[pod.Name])
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.in = in
}

func (r *router) pick() *simEngine {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.in[rand.IntN(len(r.in))]
}
