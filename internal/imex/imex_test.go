package imex

import (
	"cmp"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/gpuhealthd/gpuhealthd/nvlink"
)

// node is a host's process file system and device folder of our own, with kthreadd.
type node struct {
	t    testing.TB
	look Look
}

func newNode(t testing.TB) *node {
	n := &node{t: t, look: Look{Proc: filepath.Join(t.TempDir(), "proc"), Dev: "/dev", Deadline: 5 * time.Second}}
	n.process(2, "kthreadd")
	return n
}

// process adds one that has files open.
func (n *node) process(pid int, name string, files ...string) {
	n.t.Helper()
	folder := filepath.Join(n.look.Proc, strconv.Itoa(pid))
	if err := os.MkdirAll(filepath.Join(folder, "fd"), 0o755); err != nil {
		n.t.Fatal(err)
	}
	for i, file := range append([]string{"/dev/null"}, files...) {
		if err := os.Symlink(file, filepath.Join(folder, "fd", strconv.Itoa(i))); err != nil {
			n.t.Fatal(err)
		}
	}
	for _, file := range []string{"comm", "cgroup"} {
		if err := os.WriteFile(filepath.Join(folder, file), []byte(name+"\n"), 0o644); err != nil {
			n.t.Fatal(err)
		}
	}
}

const channel = "/dev/nvidia-caps-imex-channels/channel0"

func TestSee(t *testing.T) {
	shell := func(script string) []string { return []string{"/bin/sh", "-c", script} }
	for _, tt := range []struct {
		name    string
		process map[string]string
		command []string
		runs    bool
		users   int // -1 is not looked for
		state   nvlink.IMEXState
		says    string
	}{
		{name: "idle", process: map[string]string{"python3": "/dev/nvidia0"}, command: shell("echo asked for nothing")},
		{name: "in use", process: map[string]string{"nvidia-imex": "", "python3": channel}, command: shell("echo READY"), runs: true, users: -1, state: nvlink.IMEXReady},
		{name: "waits", process: map[string]string{"nvidia-imex": "", "python3": channel}, command: shell("echo WAITING_FOR_PEERS; exit 1"), runs: true, users: 1, state: nvlink.IMEXNotReady},
		{name: "a pod's, and none of the host", process: map[string]string{"nvidia-imex": "", "python3": channel}, command: shell("echo UNAVAILABLE; exit 1"), runs: true, users: -1, says: "exit status 1"},
		{name: "no such program", process: map[string]string{"nvidia-imex": ""}, command: []string{"/nonexistent/nvidia-imex-ctl"}, runs: true, users: -1, says: "/nonexistent/nvidia-imex-ctl"},
		{name: "nobody is asked", process: map[string]string{"nvidia-imex": "", "python3": channel}, runs: true, users: -1},
		{name: "gone", process: map[string]string{"python3": channel}, command: shell("echo READY"), users: 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			n := newNode(t)
			for name, file := range tt.process {
				n.process(100+len(name), name, cmp.Or(file, "/dev/null"))
			}
			n.look.Command = tt.command
			seen, err := n.look.See(t.Context())
			if (err != nil) != (tt.says != "") || err != nil && !strings.Contains(err.Error(), tt.says) {
				t.Errorf("error %v, want %q", err, tt.says)
			}
			users := -1
			if seen.Users != nil {
				users = *seen.Users
			}
			if seen.Runs == nil || *seen.Runs != tt.runs || users != tt.users || seen.State != tt.state {
				t.Errorf("%+v, %d users", seen, users)
			}
		})
	}
}

// TestAPodThatSeesItselfOnly knows nothing, and says so.
func TestAPodThatSeesItselfOnly(t *testing.T) {
	seen, err := Look{Proc: t.TempDir(), Dev: "/dev"}.See(t.Context())
	if err == nil || seen.Runs != nil || seen.Users != nil || seen.State != nvlink.IMEXUnknown {
		t.Errorf("%+v, %v", seen, err)
	}
}

// TestTheToolHangs: nvidia-imex-ctl is ended at its deadline, and its answer unknown.
func TestTheToolHangs(t *testing.T) {
	if _, err := exec.LookPath("sleep"); err != nil {
		t.Skip("no sleep on this machine")
	}
	n := newNode(t)
	n.process(100, "nvidia-imex")
	n.look.Command, n.look.Deadline = []string{"sleep", "1000"}, 50*time.Millisecond
	seen, err := n.look.See(t.Context())
	if !errors.Is(err, context.DeadlineExceeded) || seen.State != nvlink.IMEXUnknown || seen.Runs == nil {
		t.Errorf("%+v, %v", seen, err)
	}
}
