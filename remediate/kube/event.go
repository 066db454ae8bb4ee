package kube

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/gpuhealthd/gpuhealthd/remediate"
)

// Emit tells an event about the Node. The name of its object follows from node
// and key: an event that is there already is told, and no error.
func (n *Node) Emit(ctx context.Context, event remediate.Event) error {
	// The kubelet puts the name where it knows no UID, and kubectl looks for both.
	uid := types.UID(n.options.Name)
	if have, ok := n.mirror.current(); ok && have.exists() {
		uid = have.uid
	}
	about := corev1.ObjectReference{APIVersion: "v1", Kind: "Node", Name: n.options.Name, UID: uid}
	return n.client.Emit(ctx, n.options.Name, about, event)
}
