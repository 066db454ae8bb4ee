package apiserver

import (
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/flowcontrol"
)

const (
	// Manager is our name in managedFields.
	Manager = "gpuhealthd"
	// RequestLimit is how long one request may take, retries that the server
	// asked for included. Longer than a busy API server needs, short enough
	// that a silent one does not hold up the next wish.
	RequestLimit = 10 * time.Second
	// Client-go's own defaults, as requests per second: many agents with a
	// large burst are what kills an API server.
	rate  = 5
	burst = 10

	protobuf = "application/vnd.kubernetes.protobuf"
)

// Client has the API groups that we use.
type Client struct {
	// Core is v1; it also takes the body of an eviction (policy/v1), and of a review of
	// the agent's own rights (authorization.k8s.io/v1).
	Core *rest.RESTClient
	// Events is events.k8s.io/v1.
	Events *rest.RESTClient
	// Leases is coordination.k8s.io/v1.
	Leases *rest.RESTClient
}

// New makes clients of a configuration. Observe may be nil.
func New(config *rest.Config, observe Observe) (*Client, error) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{corev1.AddToScheme, eventsv1.AddToScheme, policyv1.AddToScheme,
		coordinationv1.AddToScheme, authorizationv1.AddToScheme, metav1.AddMetaToScheme} {
		if err := add(scheme); err != nil {
			return nil, err
		}
	}
	shared := rest.CopyConfig(config)
	shared.ContentType = protobuf
	shared.AcceptContentTypes = protobuf + "," + runtime.ContentTypeJSON
	shared.NegotiatedSerializer = serializer.NewCodecFactory(scheme).WithoutConversion()
	Wrap(shared, observe)
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
	c := &Client{}
	if c.Core, err = group("/api", corev1.SchemeGroupVersion); err != nil {
		return nil, err
	}
	if c.Events, err = group("/apis", eventsv1.SchemeGroupVersion); err != nil {
		return nil, err
	}
	c.Leases, err = group("/apis", coordinationv1.SchemeGroupVersion)
	return c, err
}
