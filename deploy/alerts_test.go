package deploy

import (
	"os/exec"
	"testing"
)

// promtool runs Prometheus's own tool in this folder.
func promtool(t *testing.T, args ...string) {
	t.Helper()
	tool, err := exec.LookPath("promtool")
	if err != nil {
		t.Skip("promtool is not installed (Debian: apt-get install prometheus)")
	}
	if output, err := exec.Command(tool, args...).CombinedOutput(); err != nil {
		t.Errorf("promtool %v: %v\n%s", args, err, output)
	}
}

func TestAlertRulesAreUnderstood(t *testing.T) { promtool(t, "check", "rules", "alerts.yaml") }

func TestAlertsFireWhenTheyShould(t *testing.T) { promtool(t, "test", "rules", "alerts_cases.yaml") }
