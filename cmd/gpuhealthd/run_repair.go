package main

import (
	"log/slog"
	"os"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/gpuhealthd/gpuhealthd/collector/nvml"
	"github.com/gpuhealthd/gpuhealthd/diag/dcgmi"
	"github.com/gpuhealthd/gpuhealthd/internal/agent"
	"github.com/gpuhealthd/gpuhealthd/internal/config"
	"github.com/gpuhealthd/gpuhealthd/internal/repair"
)

// repairs adds those who do the deeds of mode repair. They are there in every mode,
// since what a deed has changed is put back in every mode. api is nil where there is
// none; asked are the replicas, and a gives the agent once it runs.
func repairs(opts *agent.Options, cfg config.Config, log *slog.Logger, api *rest.Config, asked *replicas, a func() *agent.Agent) error {
	o := repair.Options{Log: log, Config: cfg.Repair, Node: opts.Name, API: api, Observe: opts.Metrics.Request,
		GPUs: func() []nvml.GPU { return a().GPUs() }, Told: func(deed string, p dcgmi.Progress) { a().Diagnosing(deed, p) },
		Serving: asked.load, Ceiling: time.Duration(cfg.Serving.DrainCeiling),
		Slurm: cfg.SlurmNode(opts.Name), Self: types.NamespacedName{Namespace: os.Getenv("POD_NAMESPACE"), Name: os.Getenv("POD_NAME")}}
	for _, child := range []any{opts.Driver, opts.Engine} {
		if c, ok := child.(repair.Child); ok {
			o.Children = append(o.Children, c)
		}
	}
	tools, err := repair.New(o)
	if err != nil {
		return err
	}
	opts.Doers, opts.Occupant, opts.Reset, opts.Workloads = tools.Doers, tools.Occupant, tools.Reset, tools.Workloads
	return asked.ask(opts, cfg, log, api, tools)
}
