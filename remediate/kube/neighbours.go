package kube

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/flowcontrol"
	"k8s.io/klog/v2"

	"github.com/gpuhealthd/gpuhealthd/remediate"
	"github.com/gpuhealthd/gpuhealthd/remediate/apiserver"
)

const (
	// maxNeighbours bounds what is heard of one domain: a partition of the largest
	// has 576 GPUs, on 144 trays. Nodes beyond that many are not heard.
	maxNeighbours = 256
	// summaryKept is how much of a summary is kept: enough to see that it is too
	// long.
	summaryKept = 4096
	// The limits of the requests are those of the other clients.
	domainRate, domainBurst = 5, 10
)

// Domain hears the other Nodes of an NVLink domain, by their metadata alone.
type Domain struct {
	self  string
	log   *slog.Logger
	nodes metadata.Interface
}

// NewDomain prepares a client and asks the API server nothing.
func NewDomain(options Options) (*Domain, error) {
	if options.Name == "" {
		return nil, errors.New("no node name")
	}
	config := metadata.ConfigFor(options.Config)
	config.RateLimiter = flowcontrol.NewTokenBucketRateLimiter(domainRate, domainBurst)
	apiserver.Wrap(config, options.Observe)
	transport, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("client for the neighbours of node %s: %w", options.Name, err)
	}
	nodes, err := metadata.NewForConfigAndClient(config, transport)
	if err != nil {
		return nil, fmt.Errorf("client for the neighbours of node %s: %w", options.Name, err)
	}
	return &Domain{self: options.Name, log: options.Log, nodes: nodes}, nil
}

// Hear follows the Nodes with the domain's label until ctx ends, and tells all of
// them, but for our own, whenever one has something else to say: in order of their
// names, once at first, from one goroutine. While the API server is away the last
// that was told stands.
func (d *Domain) Hear(ctx context.Context, domain string, heard func([]remediate.Neighbour)) {
	logger := logr.FromSlogHandler(d.log.Handler())
	store := &chorus{self: d.self, heard: heard, said: map[string]string{}}
	reflector := cache.NewReflectorWithOptions(d.source(domain), &metav1.PartialObjectMetadata{}, store, cache.ReflectorOptions{
		Name:   "NVLink domain " + domain,
		Logger: &logger,
	})
	reflector.RunWithContext(klog.NewContext(ctx, logger))
}

// source lists and watches the domain's Nodes.
func (d *Domain) source(domain string) cache.ListerWatcher {
	nodes := d.nodes.Resource(schema.GroupVersionResource{Version: "v1", Resource: "nodes"})
	selector := labels.Set{remediate.LabelDomain: domain}.String()
	return cache.ToListWatcherWithWatchListSemantics(&cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			options.LabelSelector = selector
			return nodes.List(ctx, options)
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			options.LabelSelector = selector
			return nodes.Watch(ctx, options)
		},
	}, d.nodes)
}

// chorus is what the Nodes of a domain say, by name. It is the store of the watch's
// reflector, and keeps their summaries alone.
type chorus struct {
	self  string
	heard func([]remediate.Neighbour)

	mu   sync.Mutex
	said map[string]string
	told bool
}

// change lets something happen to what is said, and tells it if that is news.
func (c *chorus) change(what func(said map[string]string)) {
	c.mu.Lock()
	before := maps.Clone(c.said)
	what(c.said)
	news := !c.told || !maps.Equal(before, c.said)
	c.told = true
	var all []remediate.Neighbour
	for _, name := range slices.Sorted(maps.Keys(c.said)) {
		all = append(all, remediate.Neighbour{Node: name, Summary: c.said[name]})
	}
	c.mu.Unlock()
	if news {
		c.heard(all)
	}
}

// keep takes in what one Node says.
func (c *chorus) keep(said map[string]string, object any) error {
	node, ok := object.(*metav1.PartialObjectMetadata)
	if !ok {
		return fmt.Errorf("the watch of a domain's Nodes brought a %T", object)
	}
	if _, known := said[node.Name]; node.Name != c.self && (known || len(said) < maxNeighbours) {
		text := node.Annotations[remediate.SummaryAnnotation]
		said[node.Name] = strings.Clone(text[:min(len(text), summaryKept)])
	}
	return nil
}

// Add, Update, Delete, Replace and Resync make it a cache.ReflectorStore.
func (c *chorus) Add(object any) error { return c.Update(object) }

// Update takes a Node that has come or changed.
func (c *chorus) Update(object any) (err error) {
	c.change(func(said map[string]string) { err = c.keep(said, object) })
	return err
}

// Delete takes a Node that is gone, or in another domain by now.
func (c *chorus) Delete(object any) error {
	if node, ok := object.(*metav1.PartialObjectMetadata); ok {
		c.change(func(said map[string]string) { delete(said, node.Name) })
	}
	return nil
}

// Replace takes a fresh list.
func (c *chorus) Replace(objects []any, _ string) (err error) {
	c.change(func(said map[string]string) {
		clear(said)
		for _, object := range objects {
			err = errors.Join(err, c.keep(said, object))
		}
	})
	return err
}

// Resync has nothing to do.
func (c *chorus) Resync() error { return nil }
