package demo

import (
	"bufio"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/gpuhealthd/gpuhealthd/test/daemontest"
)

// TestEndsEarly: however a demo ends, no daemon is left; and unless it is killed
// outright it ends without a word, and its folder is gone.
func TestEndsEarly(t *testing.T) {
	for name, end := range map[string]func(*exec.Cmd, io.Closer) error{
		"Ctrl-C":                 sent(syscall.SIGINT),
		"SIGTERM":                sent(syscall.SIGTERM),
		"the terminal is closed": sent(syscall.SIGHUP),
		"the reader goes away":   func(_ *exec.Cmd, out io.Closer) error { return out.Close() },
		"SIGKILL":                sent(syscall.SIGKILL),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			cmd := exec.CommandContext(t.Context(), programs.Binary(t), "demo", "--sim", programs.Library(t))
			cmd.Env = append(os.Environ(), "TMPDIR="+dir)
			var said strings.Builder
			cmd.Stderr = &said
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			for sc := bufio.NewScanner(out); sc.Scan() && !strings.Contains(sc.Text(), "would label"); {
				continue
			}
			if err := end(cmd, out); err != nil {
				t.Fatal(err)
			}
			err = cmd.Wait()
			daemontest.Await(t, "the daemon has ended", func() bool { return !running(t, dir) })
			var exit *exec.ExitError
			if name == "SIGKILL" && errors.As(err, &exit) {
				return
			}
			if err != nil || said.Len() > 0 {
				t.Errorf("%v: %s", err, &said)
			}
			if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
				t.Errorf("left: %v, %v", left, err)
			}
		})
	}
}

func sent(s syscall.Signal) func(*exec.Cmd, io.Closer) error {
	return func(cmd *exec.Cmd, _ io.Closer) error { return cmd.Process.Signal(s) }
}

// running says whether any process has the folder in its environment or its
// arguments.
func running(t *testing.T, dir string) bool {
	t.Helper()
	for _, file := range []string{"cmdline", "environ"} {
		names, err := filepath.Glob("/proc/[0-9]*/" + file)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			// A process that has ended meanwhile has nothing to read.
			if data, err := os.ReadFile(name); err == nil && strings.Contains(string(data), dir) {
				return true
			}
		}
	}
	return false
}
