package main

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/gpuhealthd/gpuhealthd/collector/canary"
	"github.com/gpuhealthd/gpuhealthd/fault"
	"github.com/gpuhealthd/gpuhealthd/internal/agent"
	"github.com/gpuhealthd/gpuhealthd/internal/config"
	"github.com/gpuhealthd/gpuhealthd/internal/repair"
	endpoints "github.com/gpuhealthd/gpuhealthd/internal/serving"
	"github.com/gpuhealthd/gpuhealthd/remediate/fleet"
	"github.com/gpuhealthd/gpuhealthd/remediate/pods"
	"github.com/gpuhealthd/gpuhealthd/remediate/prometheus"
	"github.com/gpuhealthd/gpuhealthd/serving"
)

// replicas are asked, and tell a drain what they have to do.
type replicas struct{ of *endpoints.Serving }

// load is what the engines of a pod have to do; nobody knows where none are asked.
func (r *replicas) load(uid types.UID) (pods.Load, bool) {
	if r.of == nil {
		return pods.Load{}, false
	}
	l, may := r.of.Load(string(uid))
	return pods.Load(l), may
}

// unfound are the replicas that are named and not found.
func (r *replicas) unfound() (all []agent.Unfound) {
	for _, u := range r.of.Unfound() {
		all = append(all, agent.Unfound(u))
	}
	return all
}

// turns says with whom a worker takes turns to be restarted.
func (r *replicas) turns(w fault.Workload) (fleet.Serving, bool) {
	if r.of == nil {
		return fleet.Serving{}, false
	}
	namespace, selector, found := r.of.Peers(w.UID)
	return fleet.Serving{Namespace: namespace, Selector: selector}, found
}

// ask has the serving engines asked, where the site wants it. api is nil where there
// is none.
func (r *replicas) ask(opts *agent.Options, cfg config.Config, log *slog.Logger, api *rest.Config, tools repair.Tools) error {
	c := cfg.Serving
	if !c.Enabled {
		opts.Release = tools.Release
		return nil
	}
	dialects, err := c.Kinds()
	if err != nil {
		return fmt.Errorf("serving.dialects: %w", err)
	}
	o := endpoints.Options{
		Node: opts.Name, Config: api, Observe: opts.Metrics.Request, Grants: tools.Granted, Processes: tools.Processes, Services: cfg.Repair.Services, GPUs: tools.Devices,
		Ports: c.Ports, Roles: c.Disaggregated.RoleLabels, Groups: c.Disaggregated.GroupLabels,
		RoleWords:  map[serving.Role][]string{serving.Prefill: c.Disaggregated.Prefill, serving.Decode: c.Disaggregated.Decode},
		Prometheus: prometheus.Server{URL: c.Prometheus},
		Proc:       cfg.Repair.Proc, Period: time.Duration(c.Period), Deadline: time.Duration(c.Deadline), Dialects: dialects, Log: log,
		Canary: c.Canary.Enabled, Every: c.Probation == config.LivesEvery, Settle: tools.Settle,
	}
	if d := c.Disaggregated; d.Enabled {
		o.Disaggregated = &endpoints.Disaggregated{Lease: time.Duration(d.KVLease)}
	}
	for _, e := range c.Engines {
		o.Engines = append(o.Engines, endpoints.Engine(e))
	}
	if r.of, err = endpoints.New(o); err != nil {
		return err
	}
	opts.Replicas, opts.Rotation = r.of, r.of
	opts.Peers, opts.Marker = r.of, tools.Marker
	opts.Unfound = r.unfound
	if c.Prometheus != "" {
		opts.Fleet = r.of.Fleet
	}
	if c.Canary.Enabled {
		opts.Canary = prober{r.of, canary.New(canary.Config{Period: time.Duration(c.Canary.Period), PerMinute: c.Canary.PerMinute, Limits: canary.Limits{
			Frozen: time.Duration(c.Canary.Frozen), FirstToken: time.Duration(c.Canary.FirstToken), Rate: c.Canary.Rate}}, uint64(time.Now().UnixNano()))}
	}
	return nil
}

// prober asks the replicas what users would ask.
type prober struct {
	of   *endpoints.Serving
	asks *canary.Prober
}

// Run implements agent.Canary.
func (p prober) Run(ctx context.Context, may func(serving.Replica) bool, out func(serving.Probe)) {
	p.asks.Run(ctx, func() []canary.Target { return p.of.Canaries(may) }, out)
}
