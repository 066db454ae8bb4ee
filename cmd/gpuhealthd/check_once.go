package main

import (
	"context"
	"log/slog"
	"os"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/gpuhealthd/gpuhealthd/collector/nvml"
	"github.com/gpuhealthd/gpuhealthd/internal/agent"
	"github.com/gpuhealthd/gpuhealthd/internal/check"
	"github.com/gpuhealthd/gpuhealthd/internal/config"
	"github.com/gpuhealthd/gpuhealthd/remediate"
)

// once finds out without a daemon: by an agent that only observes and remembers
// nothing. Nothing is written that a check which is killed could leave behind, and no
// disk that hangs holds up its end.
func (c *checking) once(ctx context.Context) (agent.Status, error) {
	lock := childLock(c.cfg.State.Path)
	cfg := c.observing()
	nobody := func() *agent.Agent { return nil } // an agent that only observes does no deed that would ask
	opts, err := options(cfg, slog.New(slog.DiscardHandler), agent.NewMetrics(prometheus.NewRegistry()), nobody)
	if err != nil {
		return agent.Status{}, err
	}
	if opts.Driver != nil {
		n := nvmlConfig(cfg)
		n.Lock = lock
		opts.Driver = nvml.New(n)
	}
	return check.Once(ctx, opts)
}

// observing is the configuration of an agent that is asked once.
func (c *checking) observing() config.Config {
	cfg := c.cfg
	cfg.Mode, cfg.Actuator = remediate.Observe, config.ActuatorLog
	cfg.DCGM.Enabled, cfg.Evidence.Keep = false, 0
	cfg.State.Path = ""
	// A call that hangs must be known before the deadline; the child looks once a period.
	cfg.NVML.Deadline = min(cfg.NVML.Deadline, config.Duration(c.deadline/2))
	cfg.NVML.Period = min(cfg.NVML.Period, config.Duration(c.deadline/10))
	return cfg
}

// childLock is what a check's driver child holds locked, so that checks which find
// the driver stuck, one after the other, leave one child behind and not one each. A
// user who may not write beside the state goes without.
func childLock(store string) string {
	lock := beside(store, "check")
	if os.MkdirAll(lock, 0o755) != nil {
		return ""
	}
	return lock
}
