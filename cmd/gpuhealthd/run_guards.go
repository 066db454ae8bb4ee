package main

import (
	"os"
	"time"

	"k8s.io/client-go/rest"

	"github.com/gpuhealthd/gpuhealthd/fault"
	"github.com/gpuhealthd/gpuhealthd/internal/agent"
	"github.com/gpuhealthd/gpuhealthd/internal/config"
	"github.com/gpuhealthd/gpuhealthd/remediate/apiserver"
	"github.com/gpuhealthd/gpuhealthd/remediate/fleet"
)

// guards adds who asks the node's group for leave; turns says with whom a worker takes
// turns to be restarted.
func guards(opts *agent.Options, cfg config.Config, api *rest.Config, turns func(fault.Workload) (fleet.Serving, bool)) error {
	rules := opts.Policy.Guards
	if rules == nil {
		opts.CapacityOff = "guards.enabled is false"
		return nil
	}
	if api == nil {
		opts.CapacityOff = "the actuator is not kubernetes"
		return nil
	}
	client, err := apiserver.New(api, opts.Metrics.Request)
	if err != nil {
		return err
	}
	namespace, name := cfg.Guards.Capacity.ContractName()
	if name == "" {
		opts.CapacityOff = "there is no contract: guards.capacity.contract"
	}
	asker, err := fleet.New(fleet.Options{
		Node: opts.Name, Client: client, Rules: *rules,
		Namespace: cfg.Guards.LeaseNamespace(os.Getenv("POD_NAMESPACE")), Label: cfg.Guards.Group, Rack: cfg.Repair.Diag.Schedule.Rack,
		Contract: fleet.ConfigMap{Namespace: namespace, Name: name}, Prometheus: cfg.Guards.Capacity.Prometheus,
		Serving: turns, Turn: time.Duration(cfg.Repair.Restart.Deadline),
	})
	if err != nil {
		return err
	}
	opts.Group = asker
	return nil
}
