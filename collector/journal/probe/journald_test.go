package probe

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

const journaldPath = "/lib/systemd/systemd-journald"

// journald is a private one, in a mount namespace of its own. It reads the
// machine's kernel log, writes to nothing that others see, and keeps little.
type journald struct {
	t   testing.TB
	cmd *exec.Cmd
	// root is its directory of journals.
	root string
}

// startJournald waits until the journal has the whole kernel log.
func startJournald(t testing.TB) *journald {
	t.Helper()
	if _, err := os.Stat(journaldPath); err != nil {
		t.Skip("systemd-journald is not installed (Debian: apt-get install systemd)")
	}
	if os.Geteuid() != 0 {
		t.Skip("a private journald needs root for its mount namespace")
	}
	const inside = `set -e; mount --make-rprivate /; mount -t tmpfs tmpfs /run; mkdir -p /var/log/journal /run/systemd/journald.conf.d
mount -t tmpfs tmpfs /var/log/journal; rmdir /var/log/journal/* 2>/dev/null || true
printf '[Journal]\nStorage=volatile\nRuntimeMaxUse=24M\nRuntimeMaxFileSize=512K\nRuntimeMaxFiles=20\nForwardToSyslog=no\n' >/run/systemd/journald.conf.d/test.conf
mkdir -p /run/systemd/journal; exec ` + journaldPath
	cmd := exec.Command("unshare", "-m", "bash", "-c", inside)
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Skipf("no private journald: %v", err)
	}
	ended := make(chan struct{})
	go func() { cmd.Wait(); close(ended) }()
	t.Cleanup(func() {
		cmd.Process.Kill()
		<-ended
	})
	d := &journald{t: t, cmd: cmd, root: fmt.Sprintf("/proc/%d/root/run/log/journal", cmd.Process.Pid)}
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

// rotate begins a new file, and has journald throw away the oldest ones.
func (d *journald) rotate() {
	d.t.Helper()
	before := d.files()
	if err := d.cmd.Process.Signal(syscall.SIGUSR2); err != nil {
		d.t.Fatal(err)
	}
	for began := time.Now(); d.files() == before; time.Sleep(time.Millisecond) {
		if time.Since(began) > 20*time.Second {
			d.t.Fatal("journald does not rotate")
		}
	}
}

// files names the journal files, the archived ones by their own names.
func (d *journald) files() string {
	d.t.Helper()
	list, err := filepath.Glob(filepath.Join(d.root, "*", "*.journal"))
	if err != nil {
		d.t.Fatal(err)
	}
	return strings.Join(list, " ")
}

// bootID is this machine's.
func bootID(t testing.TB) string {
	t.Helper()
	id, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(id))
}

// descriptors counts what a process has open.
func descriptors(t testing.TB, pid int) int {
	t.Helper()
	list, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	return len(list)
}
