// Package systemd holds the unit, and these tests of it by systemd's own tools.
package systemd

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

const unit = "gpuhealthd.service"

// exposure is the rating that the unit's head comment promises, times ten.
const exposure = "25"

// analyze runs systemd-analyze on a copy of the unit whose executable exists.
func analyze(t *testing.T, args ...string) (output string, err error) {
	t.Helper()
	tool, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Skip("systemd-analyze is not installed (Debian: apt-get install systemd)")
	}
	text, err := os.ReadFile(unit)
	if err != nil {
		t.Fatal(err)
	}
	runnable := strings.Replace(string(text), "/usr/bin/gpuhealthd ", "/bin/true ", 1)
	path := filepath.Join(t.TempDir(), unit)
	if err := os.WriteFile(path, []byte(runnable), 0o644); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(tool, append(args, path)...).CombinedOutput()
	return string(out), err
}

// An unknown key is told in the output only: the exit status is 0.
func TestUnitIsUnderstoodWhole(t *testing.T) {
	output, err := analyze(t, "verify")
	if err != nil || output != "" {
		t.Errorf("systemd-analyze verify: %v\n%s", err, output)
	}
}

func TestUnitIsAsTightAsItSays(t *testing.T) {
	output, err := analyze(t, "security", "--no-pager", "--offline=true", "--threshold="+exposure)
	if err != nil {
		t.Errorf("systemd-analyze security, above %s: %v\n%s", exposure, err, output)
	}
}
