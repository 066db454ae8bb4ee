package kube

import (
	"context"
	"net/http"
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/flowcontrol"
)

const (
	// manager is our name in managedFields.
	manager = "gpuhealthd"
	// requestLimit is how long one request may take, retries that the server
	// asked for included. Longer than a busy API server needs, short enough
	// that a silent one does not hold up the next wish.
	requestLimit = 10 * time.Second
	// Client-go's own defaults, as requests per second: many agents with a
	// large burst are what kills an API server.
	rate  = 5
	burst = 10

	protobuf = "application/vnd.kubernetes.protobuf"
)

// client has the two API groups that we use. The typed clientset would bring
// every group there is into memory.
type client struct {
	core   *rest.RESTClient
	events *rest.RESTClient
}

func newClient(config *rest.Config, observe Observe) (*client, error) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{corev1.AddToScheme, eventsv1.AddToScheme} {
		if err := add(scheme); err != nil {
			return nil, err
		}
	}
	shared := rest.CopyConfig(config)
	shared.ContentType = protobuf
	shared.AcceptContentTypes = protobuf + "," + runtime.ContentTypeJSON
	shared.NegotiatedSerializer = serializer.NewCodecFactory(scheme).WithoutConversion()
	if observe != nil {
		shared.Wrap(func(next http.RoundTripper) http.RoundTripper {
			return observer{next: next, observe: observe}
		})
	}
	transport, err := rest.HTTPClientFor(shared)
	if err != nil {
		return nil, err
	}
	group := func(path string, version schema.GroupVersion) (*rest.RESTClient, error) {
		own := rest.CopyConfig(shared)
		own.APIPath, own.GroupVersion = path, &version
		// Each group has its own, so that no event holds up a cordon.
		own.RateLimiter = flowcontrol.NewTokenBucketRateLimiter(rate, burst)
		return rest.RESTClientForConfigAndClient(own, transport)
	}
	c := &client{}
	if c.core, err = group("/api", corev1.SchemeGroupVersion); err != nil {
		return nil, err
	}
	c.events, err = group("/apis", eventsv1.SchemeGroupVersion)
	return c, err
}

func (c *client) getNode(ctx context.Context, name string) (*corev1.Node, error) {
	ctx, cancel := context.WithTimeout(ctx, requestLimit)
	defer cancel()
	node := &corev1.Node{}
	return node, c.core.Get().Resource("nodes").Name(name).Do(ctx).Into(node)
}

// patchNode returns the Node as the patch left it. The subresource may be
// empty.
func (c *client) patchNode(ctx context.Context, name, subresource string, kind types.PatchType, body []byte) (*corev1.Node, error) {
	ctx, cancel := context.WithTimeout(ctx, requestLimit)
	defer cancel()
	request := c.core.Patch(kind).Resource("nodes").Name(name).Param("fieldManager", manager).Body(body)
	if subresource != "" {
		request = request.SubResource(subresource)
	}
	node := &corev1.Node{}
	return node, request.Do(ctx).Into(node)
}

func (c *client) createEvent(ctx context.Context, event *eventsv1.Event) error {
	ctx, cancel := context.WithTimeout(ctx, requestLimit)
	defer cancel()
	return c.events.Post().Namespace(event.Namespace).Resource("events").
		Param("fieldManager", manager).Body(event).Do(ctx).Error()
}
