package main

import (
	"fmt"
	"slices"
	"time"

	"k8s.io/client-go/rest"

	"github.com/gpuhealthd/gpuhealthd/fault"
	"github.com/gpuhealthd/gpuhealthd/internal/agent"
	"github.com/gpuhealthd/gpuhealthd/internal/config"
	"github.com/gpuhealthd/gpuhealthd/remediate/apiserver"
	"github.com/gpuhealthd/gpuhealthd/remediate/dra"
	"github.com/gpuhealthd/gpuhealthd/remediate/execact"
	"github.com/gpuhealthd/gpuhealthd/remediate/kube"
	"github.com/gpuhealthd/gpuhealthd/remediate/logact"
	"github.com/gpuhealthd/gpuhealthd/remediate/slurm"
)

// hiddenByUnit is why a file that is there is not there for the daemon.
const hiddenByUnit = "the unit of the packages hides homes from the daemon (ProtectHome): put it below /etc/gpuhealthd"

// actuate adds who carries the plan out. api is nil where no API server has a part
// in it.
func actuate(opts *agent.Options, cfg config.Config) (api *rest.Config, err error) {
	opts.ActuatorName = string(cfg.Actuator)
	if cfg.Actuator == config.ActuatorLog {
		opts.Actuator = logact.New(opts.Log)
		return nil, nil
	}
	if opts.Name, err = nodeName(cfg.Node); err != nil {
		return nil, err
	}
	switch cfg.Actuator {
	case config.ActuatorSlurm:
		node := slurm.New(cfg.SlurmNode(opts.Name), opts.Log)
		opts.Actuator, opts.Watcher = node, node
		return nil, nil
	case config.ActuatorExec:
		opts.Actuator = execact.New(cfg.ExecNode(opts.Name), opts.Log)
		return nil, nil
	}
	if api, err = kube.Config(cfg.Kubernetes.Kubeconfig, version); err != nil {
		if slices.ContainsFunc(cfg.InHomes(), func(f config.File) bool { return f.Path == cfg.Kubernetes.Kubeconfig }) {
			err = fmt.Errorf("%w; %s", err, hiddenByUnit)
		}
		return nil, err
	}
	o := kube.Options{Name: opts.Name, Config: api, Log: opts.Log, Observe: opts.Metrics.Request, WatchDelay: time.Duration(cfg.Kubernetes.StartJitter)}
	node, err := kube.New(o)
	if err != nil {
		return nil, err
	}
	opts.Actuator, opts.Watcher = node, node
	opts.Judge.Correlate = fault.DefaultCorrelate
	if opts.Neighbours, err = kube.NewDomain(o); err != nil {
		return nil, err
	}
	custom, err := apiserver.NewCustom(api, opts.Metrics.Request)
	if err != nil {
		return nil, err
	}
	opts.Fencer, opts.FenceDelay = dra.New(opts.Name, custom), time.Duration(cfg.Kubernetes.StartJitter)
	return api, nil
}
