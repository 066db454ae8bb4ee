package host

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/gpuhealthd/gpuhealthd/remediate"
)

func rebooting(prefix []string, program ...string) *Reboot {
	config := Default()
	config.Prefix, config.Reboot = prefix, program
	return &Reboot{Config: config}
}

func rebootDeed(limit time.Duration) remediate.Deed {
	return remediate.Deed{ID: "reset-1", Kind: remediate.StepReboot, Deadline: time.Now().Add(limit)}
}

func TestRebootEnds(t *testing.T) {
	tests := []struct {
		name   string
		argv   []string
		limit  time.Duration
		result remediate.Result
		words  []string
	}{
		{"refused", []string{"sh", "-c", "echo Operation inhibited; exit 1"}, time.Minute,
			remediate.Unsuccessful, []string{"exit status 1: Operation inhibited"}},
		{"by nobody", []string{"/nonexistent/reboot"}, time.Minute,
			remediate.Unavailable, []string{"/nonexistent/reboot"}},
		{"accepted, and nothing happens", []string{"true"}, 300 * time.Millisecond,
			remediate.Unsuccessful, []string{"true was accepted, and the host was still up at the deadline"}},
		{"without an answer", []string{"sleep", "1000"}, 300 * time.Millisecond,
			remediate.Unsuccessful, []string{"deadline exceeded"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			is(t, rebooting(nil, test.argv...).Do(t.Context(), rebootDeed(test.limit), nil), test.result, test.words...)
		})
	}
}

// The host stops us once the reboot is under way.
func TestRebootHappens(t *testing.T) {
	file := filepath.Join(t.TempDir(), "asked")
	ctx, stop := context.WithCancel(t.Context())
	go func() {
		defer stop()
		for _, err := os.Stat(file); err != nil && ctx.Err() == nil; _, err = os.Stat(file) {
			time.Sleep(time.Millisecond)
		}
	}()
	o := rebooting([]string{"env", "--"}, "sh", "-c", ": >"+file).Do(ctx, rebootDeed(time.Minute), nil)
	is(t, o, remediate.Undecided, "the boot's id will tell")

	must(t, os.Remove(file))
	is(t, rebooting(nil, "touch", file).Do(ctx, rebootDeed(time.Minute), nil), remediate.Aborted)
	if _, err := os.Stat(file); err == nil {
		t.Error("a reboot that was called off was asked for")
	}
}

// The simulated node reboots: its lost GPU is back, and the boot is another.
func TestRebootOfTheSimulatedNode(t *testing.T) {
	b := newBench(t)
	must(t, b.Lose("1"))
	ctl := filepath.Join(t.TempDir(), "ctl")
	if out, err := exec.Command("go", "build", "-o", ctl, "../../sim/ctl").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	before, err := os.ReadFile(b.BootIDPath())
	must(t, err)
	ctx, stop := context.WithCancel(t.Context())
	go func() {
		defer stop()
		for ctx.Err() == nil {
			if g, err := b.GPU("1"); err == nil && g.State == "present" {
				return
			}
			time.Sleep(time.Millisecond)
		}
	}()
	o := rebooting(nil, ctl, "-dir", filepath.Dir(b.BootIDPath()), "reboot").Do(ctx, rebootDeed(time.Minute), nil)
	is(t, o, remediate.Undecided)
	if after, err := os.ReadFile(b.BootIDPath()); err != nil || string(after) == string(before) {
		t.Errorf("boot id %s, %v", after, err)
	}
}
