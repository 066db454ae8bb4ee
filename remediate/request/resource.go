package request

import (
	"context"
	"errors"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/gpuhealthd/gpuhealthd/remediate"
	"github.com/gpuhealthd/gpuhealthd/remediate/apiserver"
)

// Resource asks by creating a custom resource, as a file says, for our Node, whose
// name it is given.
func Resource(name string, file *File, client *apiserver.Client, custom *apiserver.Custom) *Request {
	n := node{name, client}
	return &Request{way: &resource{node: n, file: file, custom: custom}, node: n, every: every}
}

type resource struct {
	node   node
	file   *File
	custom *apiserver.Custom
}

func (r *resource) look(ctx context.Context, deed remediate.Deed) (standing, error) {
	object, _, err := r.find(ctx, deed)
	if err != nil || object == nil {
		return standing{}, err
	}
	return r.judge(object)
}

// judge reads a resource's status.
func (r *resource) judge(object *unstructured.Unstructured) (standing, error) {
	failed, err := r.file.Failure.seen(object.Object)
	if err != nil {
		return standing{}, fmt.Errorf("%s: failure: %w", r.file.Path, err)
	}
	succeeded, err := r.file.Success.seen(object.Object)
	if err != nil {
		return standing{}, fmt.Errorf("%s: success: %w", r.file.Path, err)
	}
	message, err := r.file.Message.find(object.Object)
	if err != nil {
		return standing{}, fmt.Errorf("%s: message: %w", r.file.Path, err)
	}
	s := standing{made: true}
	switch {
	case failed:
		s.result = remediate.Unsuccessful
	case succeeded:
		s.result = remediate.Succeeded
	}
	s.text = fmt.Sprintf("%s %s", object.GetKind(), object.GetName())
	if message != "" {
		s.text += ": " + message
	}
	return s, nil
}

// find gives the deed's resource, nil where there is none, and the client for it. It
// is a final error where the kind is not there, or the name is taken.
func (r *resource) find(ctx context.Context, deed remediate.Deed) (*unstructured.Unstructured, dynamic.ResourceInterface, error) {
	wanted, client, err := r.prepare(ctx, deed)
	if err != nil {
		return nil, nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, apiserver.RequestLimit)
	defer cancel()
	object, err := client.Get(ctx, wanted.GetName(), metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return nil, client, nil
	case err != nil:
		return nil, nil, fmt.Errorf("get %s %s: %w", wanted.GetKind(), wanted.GetName(), err)
	case object.GetAnnotations()[deedAnnotation] != deed.ID:
		return nil, nil, fmt.Errorf("%s %s %w: it is there already, and not for this deed", wanted.GetKind(), wanted.GetName(), errNobody)
	}
	return object, client, nil
}

// prepare renders the resource and finds out where its kind is.
func (r *resource) prepare(ctx context.Context, deed remediate.Deed) (*unstructured.Unstructured, dynamic.ResourceInterface, error) {
	object, err := r.file.render(r.node.name, deed)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w: %w", r.file.Path, errNobody, err)
	}
	kind := object.GroupVersionKind()
	found, err := r.kind(ctx, kind)
	if err != nil {
		return nil, nil, err
	}
	client := r.custom.Objects.Resource(kind.GroupVersion().WithResource(found.Name))
	if found.Namespaced {
		return object, client.Namespace(object.GetNamespace()), nil
	}
	return object, client, nil
}

// kind asks the API server for the resource of a kind.
func (r *resource) kind(ctx context.Context, kind schema.GroupVersionKind) (metav1.APIResource, error) {
	ctx, cancel := context.WithTimeout(ctx, apiserver.RequestLimit)
	defer cancel()
	path := "/apis/" + kind.GroupVersion().String()
	if kind.Group == "" {
		path = "/api/" + kind.Version
	}
	list := &metav1.APIResourceList{}
	err := r.custom.Kinds.Get().AbsPath(path).Do(ctx).Into(list)
	if err != nil && !apierrors.IsNotFound(err) {
		return metav1.APIResource{}, fmt.Errorf("look for kind %s of %s: %w", kind.Kind, kind.GroupVersion(), err)
	}
	for _, resource := range list.APIResources {
		// A subresource, such as gpuresets/status, has its parent's kind.
		if resource.Kind == kind.Kind && !strings.Contains(resource.Name, "/") {
			return resource, nil
		}
	}
	return metav1.APIResource{}, fmt.Errorf("kind %s of %s %w: the cluster does not have it", kind.Kind, kind.GroupVersion(), errNobody)
}

// ask creates the resource. Fields that its kind does not have are an error that
// names them.
func (r *resource) ask(ctx context.Context, deed remediate.Deed) error {
	object, client, err := r.prepare(ctx, deed)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, apiserver.RequestLimit)
	defer cancel()
	_, err = client.Create(ctx, object, metav1.CreateOptions{FieldManager: apiserver.Manager, FieldValidation: metav1.FieldValidationStrict})
	switch {
	case apierrors.IsBadRequest(err) || apierrors.IsInvalid(err):
		return fmt.Errorf("%s: %s %s %w: %w", r.file.Path, object.GetKind(), object.GetName(), errNobody, err)
	case err != nil:
		return fmt.Errorf("create %s %s: %w", object.GetKind(), object.GetName(), err)
	}
	return nil
}

// withdraw deletes the resource, unless it is finished and kept.
func (r *resource) withdraw(ctx context.Context, deed remediate.Deed) error {
	object, client, err := r.find(ctx, deed)
	// Where nothing can be asked for, nothing of ours stands.
	if errors.Is(err, errNobody) || err == nil && object == nil {
		return nil
	}
	if err != nil {
		return err
	}
	s, err := r.judge(object)
	if err != nil {
		return err
	}
	if s.result != "" && (r.file.Keep == KeepAll || r.file.Keep == KeepFailed && s.result != remediate.Succeeded) {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, apiserver.RequestLimit)
	defer cancel()
	uid := object.GetUID()
	err = client.Delete(ctx, object.GetName(), metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid}})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("delete %s %s: %w", object.GetKind(), object.GetName(), err)
	}
	return nil
}
