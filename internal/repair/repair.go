package repair

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/gpuhealthd/gpuhealthd/collector/nvml"
	"github.com/gpuhealthd/gpuhealthd/diag/dcgmi"
	"github.com/gpuhealthd/gpuhealthd/internal/agent"
	"github.com/gpuhealthd/gpuhealthd/internal/config"
	"github.com/gpuhealthd/gpuhealthd/remediate"
	"github.com/gpuhealthd/gpuhealthd/remediate/apiserver"
	"github.com/gpuhealthd/gpuhealthd/remediate/holders"
	"github.com/gpuhealthd/gpuhealthd/remediate/host"
	"github.com/gpuhealthd/gpuhealthd/remediate/pods"
	"github.com/gpuhealthd/gpuhealthd/remediate/slurm"
)

// operandsWait is how long the GPU operator's pods may take to go before a reset;
// whoever is left then is found among the processes.
const operandsWait = 90 * time.Second

// Options are what the deeds are done with.
type Options struct {
	Log    *slog.Logger
	Config config.Repair
	// Node is the Node's name, Self our own pod, empty outside of pods.
	Node string
	Self types.NamespacedName
	// Slurm says which of its nodes this is, where the means are Slurm's.
	Slurm slurm.Config
	// API is nil where there is none.
	API     *rest.Config
	Observe apiserver.Observe
	// Children may have GPUs open.
	Children []Child
	// Told hears how far a diagnosis is.
	Told func(deed string, p dcgmi.Progress)
	// GPUs gives those that are known.
	GPUs func() []nvml.GPU
	// Serving says what the engines of a pod have to do, nil where none are asked;
	// Ceiling is how long they may go on with it before the pod is evicted.
	Serving func(types.UID) (pods.Load, bool)
	Ceiling time.Duration
}

// Tools are who does the deeds, and who tells what they have to know.
type Tools struct {
	Doers    map[remediate.StepKind]agent.Doer
	Occupant agent.Occupant
	Reset    agent.ResetScope
	// Workloads names what works on the GPUs; nil where there are no pods.
	Workloads func(context.Context) ([]string, error)
	// Granted says which pod was given which GPUs, nil where there are no pods;
	// Processes looks for those that have any GPU of the node open.
	Granted func(context.Context) ([]pods.Grant, error)
	// Settle makes a pod say how it stands, and Release takes back what all say; nil where
	// there are no pods.
	Settle    func(ctx context.Context, pod *corev1.Pod, want pods.State, why string) error
	Release   func(context.Context) error
	Processes func() holders.Found
	// Devices gives the UUIDs of the GPUs and MIG devices of the node.
	Devices func() []string
	// Marker says on pods that a peer has left them; nil where there are none.
	Marker agent.Marker
}

// parts are what the tools are made of.
type parts struct {
	Options

	client *apiserver.Client
	pods   *pods.Pods
}

// New puts the tools together. It asks nobody anything.
func New(o Options) (Tools, error) {
	p := &parts{Options: o}
	if o.API != nil {
		if err := p.connect(); err != nil {
			return Tools{}, err
		}
	}
	doers, err := p.doers()
	if err != nil {
		return Tools{}, fmt.Errorf("mode repair: %w", err)
	}
	tools := Tools{Doers: doers, Occupant: p.occupant(), Reset: agent.ResetScope{Fixed: o.Config.Reset.FixedScope(), Managed: p.managed},
		Processes: p.everybody, Devices: p.devices}
	if p.pods != nil {
		tools.Workloads, tools.Granted, tools.Settle = p.pods.Workloads, p.pods.Granted, p.pods.Settle
		tools.Marker, tools.Release = p.pods, p.pods.Release
	}
	return tools, nil
}

// connect prepares the clients of the API server.
func (p *parts) connect() (err error) {
	if p.client, err = apiserver.New(p.API, p.Observe); err != nil {
		return err
	}
	p.pods, err = pods.New(pods.Options{
		Node: p.Node, Self: p.Self, Config: p.API, Observe: p.Observe, Log: p.Log,
		Socket: p.Config.Drain.KubeletSocket, Resources: p.Config.Drain.Resources,
		GPUs: p.known, Processes: p.scan, Serving: p.Serving, Ceiling: p.Ceiling,
	})
	return err
}

// managed says whether a fabric manager runs on the node; where that cannot be told
// the wider reset is the safe one.
func (p *parts) managed() bool {
	runs, err := host.FabricManager(p.Config.Proc)
	return err == nil && runs
}
