// Package systemd holds the unit and its drop-ins, and these tests of them by
// systemd's own tools.
package systemd

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

const (
	unit    = "gpuhealthd.service"
	observe = unit + ".d/observe.conf"
	repair  = unit + ".d/repair.conf"
)

// variants are the unit as it is and with a drop-in, each with the rating that the
// head comment of its last file promises, times ten.
var variants = []struct {
	name, exposure string
	files          []string
}{
	{"contain", "25", []string{unit}},
	{"observe", "25", []string{unit, observe}},
	{"repair", "35", []string{unit, repair}},
}

// analyze runs systemd-analyze on a copy of the files whose executable exists.
func analyze(t *testing.T, files []string, args ...string) (output string, err error) {
	t.Helper()
	tool, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Skip("systemd-analyze is not installed (Debian: apt-get install systemd)")
	}
	dir := t.TempDir()
	for _, file := range files {
		runnable := strings.Replace(read(t, file), "/usr/bin/gpuhealthd ", "/bin/true ", 1)
		path := filepath.Join(dir, file)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(runnable), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	out, err := exec.Command(tool, append(args, filepath.Join(dir, unit))...).CombinedOutput()
	return string(out), err
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// An unknown key is told in the output only: the exit status is 0.
func TestUnitIsUnderstoodWhole(t *testing.T) {
	for _, v := range variants {
		output, err := analyze(t, v.files, "verify")
		if err != nil || output != "" {
			t.Errorf("%s: systemd-analyze verify: %v\n%s", v.name, err, output)
		}
	}
}

func TestUnitIsAsTightAsItSays(t *testing.T) {
	for _, v := range variants {
		output, err := analyze(t, v.files, "security", "--no-pager", "--offline=true", "--threshold="+v.exposure)
		if err != nil {
			t.Errorf("%s: systemd-analyze security, above %s: %v\n%s", v.name, v.exposure, err, output)
		}
	}
}

// capabilities are those that files leave to the agent, as setpriv takes them.
func capabilities(t *testing.T, files []string) string {
	t.Helper()
	left := "-all"
	for _, file := range files {
		for line := range strings.Lines(read(t, file)) {
			set, ok := strings.CutPrefix(strings.TrimSpace(line), "CapabilityBoundingSet=")
			for _, name := range strings.Fields(set) {
				if ok {
					left += ",+" + strings.ToLower(strings.TrimPrefix(name, "CAP_"))
				}
			}
		}
	}
	return left
}

// TestOnlyModeRepairSeesTheFilesOfOthers: with the capabilities that are left, the open
// files of another user's process can be read in mode repair, and in no other.
func TestOnlyModeRepairSeesTheFilesOfOthers(t *testing.T) {
	setpriv, err := exec.LookPath("setpriv")
	if err != nil || os.Getuid() != 0 {
		t.Skip("only root can give capabilities up, and only with setpriv (Debian: apt-get install util-linux)")
	}
	other := exec.Command(setpriv, "--reuid=65534", "--regid=65534", "--clear-groups", "sh", "-c", "echo; exec sleep 1000")
	started, err := other.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = other.Process.Kill()
		_ = other.Wait() // it ends as it was told to
	}()
	if _, err := started.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	files := "/proc/" + strconv.Itoa(other.Process.Pid) + "/fd/0"
	for _, v := range variants {
		err := exec.Command(setpriv, "--bounding-set="+capabilities(t, v.files), "--inh-caps=-all", "readlink", files).Run()
		if sees, want := err == nil, v.name == "repair"; sees != want {
			t.Errorf("%s: it sees the open files of others: %t, want %t", v.name, sees, want)
		}
	}
}
