package kube

import (
	"fmt"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/resourceversion"
)

// mirror holds the Node as the watch and our own writes say it is, whichever
// is newer. It is the store of the watch's reflector, and keeps a view and not
// the object, which has the images of the node and more.
type mirror struct {
	mu sync.Mutex
	// synced says that a watch follows the Node; else have may be old.
	synced  bool
	have    view
	changed func()
}

// current returns the Node, and whether a watch stands behind it.
func (m *mirror) current() (view, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.have, m.synced
}

// wrote takes the answer to a write, unless the watch is ahead of it.
func (m *mirror) wrote(next view) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.have.uid == next.uid && older(next, m.have) || m.synced && m.have.uid != next.uid {
		return
	}
	m.have = next
}

// begin makes the mirror ready for a watch, end takes it away from under it.
func (m *mirror) begin(changed func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.changed = changed
}

func (m *mirror) end() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.synced = false
}

// heard takes what the watch says, which may be behind our own last write, and
// tells if it is news.
func (m *mirror) heard(next view) {
	m.mu.Lock()
	if m.have.uid == next.uid && older(next, m.have) {
		next = m.have
	}
	news := !m.synced || !m.have.same(next)
	m.have, m.synced = next, true
	changed := m.changed
	m.mu.Unlock()
	if news {
		changed()
	}
}

// older compares two versions of one Node. Versions that cannot be compared
// count as new.
func older(a, b view) bool {
	order, err := resourceversion.CompareResourceVersion(a.version, b.version)
	return err == nil && order < 0
}

// Add, Update, Delete, Replace and Resync make it a cache.ReflectorStore.
func (m *mirror) Add(object any) error { return m.Update(object) }

// Update takes a Node that was created or changed.
func (m *mirror) Update(object any) error {
	node, ok := object.(*corev1.Node)
	if !ok {
		return fmt.Errorf("the watch of a Node brought a %T", object)
	}
	m.heard(viewOf(node))
	return nil
}

// Delete takes the end of the Node.
func (m *mirror) Delete(any) error {
	m.heard(view{})
	return nil
}

// Replace takes a fresh list: our Node, or nothing.
func (m *mirror) Replace(objects []any, _ string) error {
	for _, object := range objects {
		return m.Update(object)
	}
	return m.Delete(nil)
}

// Resync has nothing to do.
func (m *mirror) Resync() error { return nil }
