package kube

import (
	"context"
	"math/rand/v2"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
)

// Watch follows the Node until ctx ends, and calls changed, from one goroutine,
// once at first and then whenever anything has changed that Apply would write,
// decide by or return. The call says that, and not what: on its way to the caller a
// change could fall behind the answer to a later write, and look like an
// administrator's. Apply, which needs no read of its own while Watch follows,
// returns what the Node says.
//
// A watch that breaks is taken up again, with a growing delay; each trial
// reaches Observe, and errors that do not pass by themselves the log.
func (n *Node) Watch(ctx context.Context, changed func()) {
	if n.options.WatchDelay > 0 && pause(ctx, rand.N(n.options.WatchDelay)) != nil {
		return
	}
	logger := logr.FromSlogHandler(n.options.Log.Handler())
	own := fields.OneTermEqualSelector(metav1.ObjectNameField, n.options.Name)
	source := cache.NewListWatchFromClient(n.client.Core, "nodes", metav1.NamespaceAll, own)
	reflector := cache.NewReflectorWithOptions(source, &corev1.Node{}, &n.mirror, cache.ReflectorOptions{
		Name:   "node " + n.options.Name,
		Logger: &logger,
	})
	n.mirror.begin(changed)
	defer n.mirror.end()
	reflector.RunWithContext(klog.NewContext(ctx, logger))
}
