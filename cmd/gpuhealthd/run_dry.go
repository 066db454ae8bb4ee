package main

import (
	"context"

	"github.com/gpuhealthd/gpuhealthd/internal/config"
	"github.com/gpuhealthd/gpuhealthd/remediate"
)

// dryRun runs the daemon so that nobody notices: the log is the actuator, what the
// agent would do itself is asked of others, who are told in the log alone, and nothing
// is remembered. It may run beside the daemon proper.
func dryRun(ctx context.Context, cfg config.Config) error { return run(ctx, harmless(cfg)) }

// harmless is a configuration with which nothing can be done, and nothing is left behind.
func harmless(cfg config.Config) config.Config {
	cfg.Actuator = config.ActuatorLog
	cfg.State.Path, cfg.Evidence.Keep = "", 0
	cfg.Repair.Drain.Mode, cfg.Repair.Reset.Mode, cfg.Repair.Reboot.Mode = remediate.MeansOff, remediate.MeansOff, remediate.MeansOff
	cfg.Repair.Diag.Mode, cfg.Repair.Restart.Mode = remediate.MeansOff, remediate.MeansOff
	cfg.HTTP.Listen = ""
	return cfg
}
