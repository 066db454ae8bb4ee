package e2e

import (
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"

	"github.com/gpuhealthd/gpuhealthd/test/daemontest"
)

// history is every version that a Node has had since a moment: what the API
// server has seen, whatever the daemon says of itself.
type history struct {
	from     string // the version before
	mu       sync.Mutex
	versions []*corev1.Node
}

// record follows the Node until the test ends.
func (h *host) record() *history {
	h.t.Helper()
	seen := &history{from: h.object().ResourceVersion}
	w, err := h.admin.CoreV1().Nodes().Watch(h.t.Context(), metav1.ListOptions{
		FieldSelector:   fields.OneTermEqualSelector(metav1.ObjectNameField, h.name).String(),
		ResourceVersion: seen.from,
	})
	if err != nil {
		h.t.Fatal(err)
	}
	go func() {
		for e := range w.ResultChan() {
			if n, ok := e.Object.(*corev1.Node); ok {
				seen.add(n)
			}
		}
	}()
	h.t.Cleanup(w.Stop)
	return seen
}

// versions gives what the Node was between the recording's begin and now.
func (h *host) versions(seen *history) (versions []*corev1.Node) {
	h.t.Helper()
	last := h.object()
	daemontest.Await(h.t, "the recording is complete", func() (complete bool) {
		versions, complete = seen.upTo(last)
		return complete
	})
	return versions
}

func (s *history) add(n *corev1.Node) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.versions = append(s.versions, n)
}

// upTo gives the versions until a Node's, that one included, once the watch
// has brought it.
func (s *history) upTo(n *corev1.Node) (versions []*corev1.Node, complete bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n.ResourceVersion == s.from {
		return nil, true
	}
	for i, v := range s.versions {
		if v.ResourceVersion == n.ResourceVersion {
			return s.versions[:i+1], true
		}
	}
	return s.versions, false
}
