package kube

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/gpuhealthd/gpuhealthd/remediate"
)

// BenchmarkCordon compares the write that cordons a watched Node with the floor:
// a bare merge patch that does just that, by the typed client.
func BenchmarkCordon(b *testing.B) {
	cluster := shared.Cluster(b)
	admin := kubernetes.NewForConfigOrDie(cluster.Admin()).CoreV1().Nodes()
	patch := func(b *testing.B, name, body string) {
		b.Helper()
		if _, err := admin.Patch(b.Context(), name, types.MergePatchType, []byte(body), metav1.PatchOptions{}); err != nil {
			b.Fatal(err)
		}
	}
	b.Run("floor", func(b *testing.B) {
		cluster.CreateNode(b, "floor")
		for b.Loop() {
			patch(b, "floor", cordon)
			b.StopTimer()
			patch(b, "floor", uncordon)
			b.StartTimer()
		}
	})
	b.Run("ours", func(b *testing.B) {
		cluster.CreateNode(b, "ours")
		for b.Loop() {
			b.StopTimer()
			n, have := ready(b, Options{Name: "ours", Config: cluster.Admin()})
			b.StartTimer()
			if have, err := n.writeSpec(b.Context(), have, quarantined("a")); err != nil || !have.unschedulable {
				b.Fatal(have, err)
			}
		}
	})
}

// ready returns a Node that says it is healthy. It has a client of its own,
// since one is not allowed as many writes as a benchmark makes.
func ready(b *testing.B, options Options) (*Node, view) {
	b.Helper()
	n, err := New(options)
	if err != nil {
		b.Fatal(err)
	}
	if _, err := n.Apply(b.Context(), remediate.Desired{State: remediate.Healthy}); err != nil {
		b.Fatal(err)
	}
	have, err := n.get(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	return n, have
}
