// Package journald runs a private systemd-journald for tests, in a mount
// namespace of its own: it reads the machine's kernel log, and writes to nothing
// that others see. It needs root and Debian's systemd; without them a test is
// skipped.
package journald

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

const program = "/lib/systemd/systemd-journald"

// Journald is a running one. It keeps little: 20 files of half a MiB.
type Journald struct {
	t   testing.TB
	cmd *exec.Cmd
	// Root is its directory of journals.
	Root string
}

// Start returns when journald takes messages; its end is the test's.
func Start(t testing.TB) *Journald {
	t.Helper()
	if _, err := os.Stat(program); err != nil {
		t.Skip("systemd-journald is not installed (Debian: apt-get install systemd)")
	}
	if os.Geteuid() != 0 {
		t.Skip("a private journald needs root for its mount namespace")
	}
	const inside = `set -e; mount --make-rprivate /; mount -t tmpfs tmpfs /run; mkdir -p /var/log/journal /run/systemd/journald.conf.d
mount -t tmpfs tmpfs /var/log/journal; rmdir /var/log/journal/* 2>/dev/null || true
printf '[Journal]\nStorage=volatile\nRuntimeMaxUse=24M\nRuntimeMaxFileSize=512K\nRuntimeMaxFiles=20\nForwardToSyslog=no\n' >/run/systemd/journald.conf.d/test.conf
mkdir -p /run/systemd/journal; exec ` + program
	cmd := exec.Command("unshare", "-m", "bash", "-c", inside)
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Skipf("no private journald: %v", err)
	}
	ended := make(chan struct{})
	go func() { _ = cmd.Wait(); close(ended) }()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-ended
	})
	d := &Journald{t: t, cmd: cmd, Root: fmt.Sprintf("/proc/%d/root/run/log/journal", cmd.Process.Pid)}
	for began := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		if _, err := os.Stat(fmt.Sprintf("/proc/%d/root/run/systemd/journal/socket", cmd.Process.Pid)); err == nil {
			return d
		}
		select {
		case <-ended:
			t.Skip("a private journald does not start here")
		default:
		}
		if time.Since(began) > 20*time.Second {
			t.Fatal("journald does not come up")
		}
	}
}

// Rotate begins a new file, and has journald throw away the oldest ones.
func (d *Journald) Rotate() {
	d.t.Helper()
	before := d.Files()
	if err := d.cmd.Process.Signal(syscall.SIGUSR2); err != nil {
		d.t.Fatal(err)
	}
	for began := time.Now(); d.Files() == before; time.Sleep(time.Millisecond) {
		if time.Since(began) > 20*time.Second {
			d.t.Fatal("journald does not rotate")
		}
	}
}

// Files names the journal files, the archived ones by their own names.
func (d *Journald) Files() string {
	d.t.Helper()
	list, err := filepath.Glob(filepath.Join(d.Root, "*", "*.journal"))
	if err != nil {
		d.t.Fatal(err)
	}
	return strings.Join(list, " ")
}
