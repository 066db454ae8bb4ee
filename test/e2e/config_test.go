package e2e

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestABadConfigIsRefused at the start, by file, line and field.
func TestABadConfigIsRefused(t *testing.T) {
	binary := programs.Binary(t)
	for _, bad := range []struct{ name, text, want string }{
		{"unknown key", "mode: contain\nnvml:\n  perriod: 5s\n", ":3: nvml.perriod: "},
		{"wrong type", "contain:\n  cleanPolls: many\n", ":2: contain.cleanPolls: "},
		{"negative duration", "nvml:\n  enabled: true\n  period: -5s\n", ":3: nvml.period: "},
		{"no unit", "contain:\n  probation: 10\n", ":2: contain.probation: "},
		{"unknown mode", "mode: heal\n", ":1: mode: "},
		{"relative path", "state:\n  path: state.db\n", ":2: state.path: "},
	} {
		t.Run(bad.name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "config.yaml")
			must(t, os.WriteFile(path, []byte(bad.text), 0o600))
			out, err := exec.Command(binary, "run", "--config", path).CombinedOutput()
			var exit *exec.ExitError
			if !errors.As(err, &exit) || exit.ExitCode() != 2 {
				t.Errorf("run ended with %v, want exit code 2", err)
			}
			if want := "gpuhealthd: " + path + bad.want; !strings.HasPrefix(string(out), want) {
				t.Errorf("run said %q, want it to begin with %q", out, want)
			}
		})
	}
}
