package apiserver

import (
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/flowcontrol"
)

// Custom reaches the kinds of other people's operators, which we have no types for.
type Custom struct {
	// Objects are the resources themselves.
	Objects dynamic.Interface
	// Kinds is for questions about which kinds there are.
	Kinds rest.Interface
}

// NewCustom makes clients of a configuration. Observe may be nil.
func NewCustom(config *rest.Config, observe Observe) (*Custom, error) {
	own := rest.CopyConfig(config)
	own.RateLimiter = flowcontrol.NewTokenBucketRateLimiter(rate, burst)
	Wrap(own, observe)
	transport, err := rest.HTTPClientFor(own)
	if err != nil {
		return nil, err
	}
	objects, err := dynamic.NewForConfigAndClient(own, transport)
	if err != nil {
		return nil, err
	}
	kinds, err := rest.UnversionedRESTClientForConfigAndClient(dynamic.ConfigFor(own), transport)
	if err != nil {
		return nil, err
	}
	return &Custom{Objects: objects, Kinds: kinds}, nil
}
