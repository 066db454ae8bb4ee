package serving

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"

	collect "github.com/gpuhealthd/gpuhealthd/collector/serving"
	"github.com/gpuhealthd/gpuhealthd/remediate/apiserver"
	"github.com/gpuhealthd/gpuhealthd/remediate/holders"
	"github.com/gpuhealthd/gpuhealthd/remediate/pods"
	"github.com/gpuhealthd/gpuhealthd/remediate/prometheus"
	"github.com/gpuhealthd/gpuhealthd/serving"
)

// Options say where replicas are looked for.
type Options struct {
	// Node is the name of our Node, and Config that of the API server, whose rate limits
	// are replaced. Without Config there are no pods.
	Node   string
	Config *rest.Config
	// Observe may be nil.
	Observe apiserver.Observe
	// Grants asks the kubelet who was given which GPU, as pods.Granted does.
	Grants func(context.Context) ([]pods.Grant, error)
	// Ports are names of container ports at which engines tell of themselves, where a
	// pod's annotations say nothing.
	Ports []string
	// Roles and Groups are labels, such as those of llm-d: the first that a pod has
	// says what its replica does in disaggregated serving, and for what.
	Roles, Groups []string
	// RoleWords are the values of the role labels that stand for each role.
	RoleWords map[serving.Role][]string
	// Disaggregated says which roles there are, nil where nobody follows their groups.
	Disaggregated *Disaggregated
	// Engines are the replicas that the site names itself.
	Engines []Engine
	// Processes looks for those that have GPUs open: for Engines with a process and,
	// without Config, for jobs. Nil is nobody. Services are those by name that are no work.
	Processes func() holders.Found
	Services  []string
	// GPUs gives the UUIDs of the node's GPUs and MIG devices; nil, or none, is not known.
	GPUs func() []string
	// Prometheus knows the fleet; it is used by Fleet alone.
	Prometheus prometheus.Server
	// Proc is the process file system of the host, such as /proc.
	Proc             string
	Period, Deadline time.Duration
	Dialects         *collect.Dialects
	Log              *slog.Logger
	// Canary says that canaries ask.
	Canary bool
	// Every says that each life of a pod's containers is on trial, and not only that in
	// which its gate was never opened.
	Every bool
	// Settle makes a pod say how it stands, as pods.Settle does; used with Config.
	Settle func(ctx context.Context, pod *corev1.Pod, want pods.State, why string) error
}

// Engine is a replica that the site names.
type Engine struct {
	Name string
	// URLs are those of its metrics.
	URLs []string
	// Dialect is the name of one; empty is found out.
	Dialect string
	// GPUs are UUIDs.
	GPUs []string
	// Process is a process by its name as the kernel has it. Where it is set, the GPUs
	// are those that processes of that name have open, and it lives while they do.
	Process string
	// Canary is the URL of the OpenAI API's server, or none; empty is that of URLs, of
	// engines that have it there. Model is what to ask for; empty is the first.
	Canary, Model string
}

func (o Options) check() error {
	switch {
	case o.Config != nil && o.Node == "":
		return errors.New("serving: no node name")
	case o.Config != nil && o.Grants == nil:
		return errors.New("serving: nobody to ask who was given which GPU")
	}
	for _, e := range o.Engines {
		if (len(e.GPUs) == 0) == (e.Process == "") {
			return fmt.Errorf("serving: engine %s: want its GPUs or its process", e.Name)
		}
		if e.Process != "" && o.Processes == nil {
			return fmt.Errorf("serving: engine %s: process %q: nobody looks for processes", e.Name, e.Process)
		}
	}
	return nil
}
