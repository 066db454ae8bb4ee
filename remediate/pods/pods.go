package pods

import (
	"errors"
	"fmt"
	"log/slog"
	"path"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/gpuhealthd/gpuhealthd/remediate/apiserver"
	"github.com/gpuhealthd/gpuhealthd/remediate/holders"
)

// DefaultSocket is where the kubelet answers, unless its root was moved.
const DefaultSocket = "/var/lib/kubelet/pod-resources/kubelet.sock"

// DefaultResources are the names under which NVIDIA's device plugin and DRA driver
// hand out GPUs. Other resources of the vendor are network cards, and the like.
func DefaultResources() []string {
	return []string{"nvidia.com/gpu", "nvidia.com/gpu.shared", "nvidia.com/mig-*", "gpu.nvidia.com"}
}

// Options say where, and how to find out what.
type Options struct {
	// Node is the name of our Node.
	Node string
	// Self is our own pod, empty outside of pods.
	Self types.NamespacedName
	// Config is that of the API server. Its rate limits are replaced.
	Config *rest.Config
	// Observe may be nil.
	Observe apiserver.Observe
	// Log gets one record for each pod that is about to be evicted, and what hinders.
	Log *slog.Logger
	// Serving says what the engines of a pod have to do, and whether it may have any:
	// false is known to have none. Nil knows of no engine.
	Serving func(types.UID) (Load, bool)
	// Ceiling is how long an engine may go on with what it runs once its pod is out of
	// rotation, such as DefaultCeiling.
	Ceiling time.Duration
	// Socket is the kubelet's, such as DefaultSocket.
	Socket string
	// Resources are patterns, in the sense of path.Match, of the names of extended
	// resources, DRA drivers and CDI kinds that stand for GPUs.
	Resources []string
	// GPUs gives those of the node, as far as they are known.
	GPUs func() []GPU
	// Processes looks for those that have any of the GPUs open.
	Processes func([]holders.GPU) holders.Found
}

// Pods are those of our node, and who drains and restarts them. Its methods may be called from any goroutine.
type Pods struct {
	options Options
	client  *apiserver.Client
}

// New prepares clients and asks nobody anything.
func New(options Options) (*Pods, error) {
	if options.Node == "" {
		return nil, errors.New("pods: no node name")
	}
	for _, pattern := range options.Resources {
		if _, err := path.Match(pattern, ""); err != nil {
			return nil, fmt.Errorf("pods: resource %q: %w", pattern, err)
		}
	}
	client, err := apiserver.New(options.Config, options.Observe)
	if err != nil {
		return nil, fmt.Errorf("client for the pods of node %s: %w", options.Node, err)
	}
	return &Pods{options: options, client: client}, nil
}
