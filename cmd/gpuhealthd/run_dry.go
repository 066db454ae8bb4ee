package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/gpuhealthd/gpuhealthd/internal/config"
	"github.com/gpuhealthd/gpuhealthd/remediate"
)

// dryRun runs the daemon so that nobody notices: the log is the actuator, what the
// agent would do itself is asked of others, who are told in the log alone, and the
// memory is thrown away. It may run beside the daemon proper.
func dryRun(ctx context.Context, cfg config.Config) error {
	dir, err := os.MkdirTemp("", "gpuhealthd-dry-run-")
	if err != nil {
		return fmt.Errorf("dry run: %w", err)
	}
	defer func() { _ = os.RemoveAll(dir) }() // a leftover in the temp folder harms nothing
	return run(ctx, harmless(cfg, dir))
}

// harmless is a configuration with which nothing can be done.
func harmless(cfg config.Config, dir string) config.Config {
	cfg.Actuator = config.ActuatorLog
	cfg.State.Path = filepath.Join(dir, "state.db")
	cfg.Repair.Drain.Mode, cfg.Repair.Reset.Mode, cfg.Repair.Reboot.Mode = remediate.MeansOff, remediate.MeansOff, remediate.MeansOff
	cfg.Repair.Diag.Mode = remediate.MeansOff
	cfg.HTTP.Listen = ""
	return cfg
}
