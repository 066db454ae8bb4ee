package kubetest

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/restmapper"
	"sigs.k8s.io/yaml"
)

// CreateNode registers a Node and returns it as the API server made it. The
// Node is deleted when the test ends, if it is still there.
func (c *Cluster) CreateNode(t testing.TB, name string) *corev1.Node {
	t.Helper()
	nodes := c.client.CoreV1().Nodes()
	node, err := nodes.Create(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatalf("create node %s: %v", name, err)
	}
	t.Cleanup(func() {
		// The test may have deleted it, or stopped the API server.
		_ = nodes.Delete(context.Background(), name, metav1.DeleteOptions{})
	})
	return node
}

// Apply applies every document of a YAML manifest server-side; an unknown or
// doubled field is an error that names the object.
func (c *Cluster) Apply(ctx context.Context, manifest []byte) error {
	return c.apply(ctx, manifest, metav1.PatchOptions{})
}

// DryRun is Apply up to, and without, the writing.
func (c *Cluster) DryRun(ctx context.Context, manifest []byte) error {
	return c.apply(ctx, manifest, metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}})
}

func (c *Cluster) apply(ctx context.Context, manifest []byte, options metav1.PatchOptions) error {
	options.FieldManager = "kubetest"
	options.FieldValidation = metav1.FieldValidationStrict
	client, err := dynamic.NewForConfig(c.Admin())
	if err != nil {
		return err
	}
	mapper := restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(c.client.Discovery()))
	documents := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(manifest)))
	for {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		var object unstructured.Unstructured
		if err := yaml.Unmarshal(document, &object.Object); err != nil {
			return fmt.Errorf("manifest: %w", err)
		}
		if len(object.Object) == 0 {
			continue // nothing but comments
		}
		resource, err := resourceOf(client, mapper, &object)
		if err != nil {
			return err
		}
		// The text goes out as it is: the server sees what an operator's kubectl would send.
		if _, err := resource.Patch(ctx, object.GetName(), types.ApplyYAMLPatchType, document, options); err != nil {
			return fmt.Errorf("apply %s %s: %w", object.GetKind(), object.GetName(), err)
		}
	}
}

// resourceOf returns the client for the object's kind and, where it has one, namespace.
func resourceOf(client dynamic.Interface, mapper meta.RESTMapper, object *unstructured.Unstructured) (dynamic.ResourceInterface, error) {
	kind := object.GroupVersionKind()
	mapping, err := mapper.RESTMapping(kind.GroupKind(), kind.Version)
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", object.GetKind(), object.GetName(), err)
	}
	if mapping.Scope.Name() == meta.RESTScopeNameRoot {
		return client.Resource(mapping.Resource), nil
	}
	return client.Resource(mapping.Resource).Namespace(object.GetNamespace()), nil
}
