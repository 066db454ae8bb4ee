package kube

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/gpuhealthd/gpuhealthd/remediate/apiserver"
)

// client does what we do with our Node and its events.
type client struct{ *apiserver.Client }

func (c client) getNode(ctx context.Context, name string) (*corev1.Node, error) {
	ctx, cancel := context.WithTimeout(ctx, apiserver.RequestLimit)
	defer cancel()
	node := &corev1.Node{}
	return node, c.Core.Get().Resource("nodes").Name(name).Do(ctx).Into(node)
}

// patchNode returns the Node as the patch left it. The subresource may be
// empty.
func (c client) patchNode(ctx context.Context, name, subresource string, kind types.PatchType, body []byte) (*corev1.Node, error) {
	ctx, cancel := context.WithTimeout(ctx, apiserver.RequestLimit)
	defer cancel()
	request := c.Core.Patch(kind).Resource("nodes").Name(name).Param("fieldManager", apiserver.Manager).Body(body)
	if subresource != "" {
		request = request.SubResource(subresource)
	}
	node := &corev1.Node{}
	return node, request.Do(ctx).Into(node)
}
