package request

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
)

// manager is our name in managedFields.
const manager = "gpuhealthd"

// node is our own Node.
type node struct {
	name   string
	client dynamic.NamespaceableResourceInterface
}

func newNode(name string, client dynamic.Interface) node {
	return node{name: name, client: client.Resource(schema.GroupVersionResource{Version: "v1", Resource: "nodes"})}
}

// get gives the Node, and nil where there is none.
func (n node) get(ctx context.Context) (*unstructured.Unstructured, error) {
	ctx, cancel := context.WithTimeout(ctx, requestLimit)
	defer cancel()
	object, err := n.client.Get(ctx, n.name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("get node %s: %w", n.name, err)
	}
	return object, nil
}

// rebooted says whether the kubelet tells of another boot than that.
func (n node) rebooted(ctx context.Context, boot string) (bool, error) {
	object, err := n.get(ctx)
	if err != nil || object == nil || boot == "" {
		return false, err
	}
	now, _, _ := unstructured.NestedString(object.Object, "status", "nodeInfo", "bootID") // of a Node it is one
	return now != "" && now != boot, nil
}
