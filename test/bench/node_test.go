package bench

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	typed "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/gpuhealthd/gpuhealthd/test/kubetest"
)

// subject is a Node seen by an administrator, who watches it.
type subject struct {
	b     *testing.B
	name  string
	nodes typed.NodeInterface
	watch watch.Interface
}

func observe(b *testing.B, cluster *kubetest.Cluster, name string) *subject {
	b.Helper()
	s := &subject{b: b, name: name, nodes: kubernetes.NewForConfigOrDie(cluster.Admin()).CoreV1().Nodes()}
	var err error
	s.watch, err = s.nodes.Watch(b.Context(), metav1.ListOptions{FieldSelector: fields.OneTermEqualSelector(metav1.ObjectNameField, name).String()})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(s.watch.Stop)
	return s
}

// cordoned returns when the watch shows the Node cordoned, and says how long
// after since that was.
func (s *subject) cordoned(since time.Time) time.Duration {
	s.b.Helper()
	return s.await(since, func(n *corev1.Node) bool { return n.Spec.Unschedulable })
}

// release uncordons the Node and returns when nothing of a cordon is left and
// the Node is at rest: the next fault shall find it as a fault does.
func (s *subject) release() {
	s.b.Helper()
	_, err := s.nodes.Patch(s.b.Context(), s.name, types.MergePatchType, []byte(`{"spec":{"unschedulable":null}}`), metav1.PatchOptions{})
	if err != nil {
		s.b.Fatal(err)
	}
	s.await(time.Now(), func(n *corev1.Node) bool { return !n.Spec.Unschedulable && !tainted(n) })
	for rest := time.After(atRest); ; {
		select {
		case <-s.watch.ResultChan():
			rest = time.After(atRest)
		case <-rest:
			return
		}
	}
}

// atRest is how long nothing is written to a Node that is at rest.
const atRest = 300 * time.Millisecond

func (s *subject) await(since time.Time, fits func(*corev1.Node) bool) time.Duration {
	s.b.Helper()
	limit := time.After(time.Minute)
	for {
		select {
		case e, open := <-s.watch.ResultChan():
			if n, ok := e.Object.(*corev1.Node); ok && fits(n) {
				return time.Since(since)
			}
			if !open {
				s.b.Fatal("the watch ended")
			}
		case <-limit:
			s.b.Fatal("waited a minute in vain for the Node to change")
		}
	}
}

func tainted(n *corev1.Node) bool {
	for _, taint := range n.Spec.Taints {
		if taint.Key == "gpuhealthd.io/quarantine" {
			return true
		}
	}
	return false
}
