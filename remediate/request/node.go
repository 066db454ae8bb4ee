package request

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"github.com/gpuhealthd/gpuhealthd/remediate/apiserver"
)

// node is our own Node.
type node struct {
	name   string
	client *apiserver.Client
}

// get gives the Node, and nil where there is none.
func (n node) get(ctx context.Context) (*corev1.Node, error) {
	ctx, cancel := context.WithTimeout(ctx, apiserver.RequestLimit)
	defer cancel()
	object := &corev1.Node{}
	err := n.client.Core.Get().Resource("nodes").Name(n.name).Do(ctx).Into(object)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("get node %s: %w", n.name, err)
	}
	return object, nil
}

func (n node) patch(ctx context.Context, kind types.PatchType, body []byte) error {
	ctx, cancel := context.WithTimeout(ctx, apiserver.RequestLimit)
	defer cancel()
	err := n.client.Core.Patch(kind).Resource("nodes").Name(n.name).
		Param("fieldManager", apiserver.Manager).Body(body).Do(ctx).Error()
	if err != nil {
		return fmt.Errorf("patch node %s: %w", n.name, err)
	}
	return nil
}

// rebooted says whether the kubelet tells of another boot than that.
func (n node) rebooted(ctx context.Context, boot string) (bool, error) {
	object, err := n.get(ctx)
	if err != nil || object == nil || boot == "" {
		return false, err
	}
	now := object.Status.NodeInfo.BootID
	return now != "" && now != boot, nil
}
