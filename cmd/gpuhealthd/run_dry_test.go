package main

import (
	"testing"

	"github.com/gpuhealthd/gpuhealthd/internal/config"
	"github.com/gpuhealthd/gpuhealthd/remediate"
)

// A dry run has nobody who could do anything, whatever the configuration says.
func TestADryRunHasNobodyToDoAnything(t *testing.T) {
	cfg := config.Default()
	cfg.Mode, cfg.Actuator = remediate.Repair, config.ActuatorKubernetes
	cfg.Repair.Drain.Mode, cfg.Repair.Reset.Mode, cfg.Repair.Reboot.Mode = remediate.MeansPods, remediate.MeansCommand, remediate.MeansCommand
	cfg.Repair.Diag.Mode = remediate.MeansCommand
	got := harmless(cfg)
	p := got.Policy()
	if got.Actuator != config.ActuatorLog || p.Drain.Mode != remediate.MeansOff || p.Restart.Mode != remediate.MeansOff || p.Reset.Mode != remediate.MeansOff || p.Reboot.Mode != remediate.MeansOff || p.Diag.Mode != remediate.MeansOff {
		t.Errorf("%+v", p)
	}
	if got.State.Path != "" || got.Evidence.Keep != 0 || got.HTTP.Listen != "" {
		t.Errorf("state in %q, %d bundles, listens on %q", got.State.Path, got.Evidence.Keep, got.HTTP.Listen)
	}
}
