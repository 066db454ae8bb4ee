package slurm

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gpuhealthd/gpuhealthd/remediate"
)

// played is a scontrol that shows what a test says and writes down what it is asked;
// test/slurm has the real one.
type played struct {
	t   *testing.T
	dir string
	*Node
}

func play(t *testing.T) *played {
	p := &played{t: t, dir: t.TempDir()}
	program := filepath.Join(p.dir, "scontrol")
	p.write("scontrol", "#!/bin/sh\ncd "+p.dir+"\necho \"$*\" >> asked\ntest \"$1\" != show || cat shown\n")
	if err := os.Chmod(program, 0o755); err != nil {
		t.Fatal(err)
	}
	p.Node = New(Config{Node: "gpu1", Scontrol: []string{program}, Deadline: 10 * time.Second, Period: time.Second}, slog.New(slog.DiscardHandler))
	return p
}

func (p *played) write(name, text string) {
	p.t.Helper()
	if err := os.WriteFile(filepath.Join(p.dir, name), []byte(text), 0o600); err != nil {
		p.t.Fatal(err)
	}
}

func (p *played) shows(state, reason string) {
	p.t.Helper()
	p.write("shown", fmt.Sprintf("   State=%s X=1\n   Reason=%s [root@2026-11-30T13:35:32]\n", state, reason))
}

// asked is what it was asked since the last call.
func (p *played) asked() string {
	path := filepath.Join(p.dir, "asked")
	text, _ := os.ReadFile(path) // one that is missing says nothing
	_ = os.Remove(path)
	return strings.ReplaceAll(strings.TrimSpace(string(text)), "\n", "; ")
}

func held(unseen ...string) remediate.Desired {
	return remediate.Desired{State: remediate.Quarantined, Quarantine: true, Unseen: unseen,
		Note: &remediate.Note{ID: "b-1", Fault: "xid-79", GPUs: []string{"GPU-a"}}}
}

const (
	show   = "show node gpu1"
	drain  = show + "; update nodename=gpu1 state=drain reason=gpuhealthd: xid-79 GPU-a (b-1)"
	resume = show + "; update nodename=gpu1 state=resume"
	ours   = "gpuhealthd: xid-79 GPU-a (b-1)"
)

// TestApply is the rules of ownership as they come out of one look at the node.
func TestApply(t *testing.T) {
	for name, c := range map[string]struct {
		state, reason string
		want          remediate.Desired
		asked         string
		closed        bool
		owner         remediate.Owner // empty is no mark
	}{
		"a fault":                        {"IDLE", "", held("b-1"), drain, true, "gpuhealthd"},
		"a fault on a node that is down": {"DOWN*", "Not responding", held("b-1"), drain, true, "gpuhealthd"},
		"drained already":                {"MIXED+DRAIN", ours, held(), show, true, "gpuhealthd"},
		"drained for another incident":   {"IDLE+DRAIN", "gpuhealthd: xid-95 GPU-b (b-0)", held("b-1"), drain, true, "gpuhealthd"},
		"an administrator's drain":       {"IDLE+DRAIN", "DIMM - bob", held("b-1"), show, true, "administrator"},
		"an administrator's, since":      {"IDLE+DRAIN", ours + " keep - bob", held(), show, true, "administrator"},
		"an administrator's resume":      {"IDLE", "", held(), show, false, "gpuhealthd"},
		"over":                           {"IDLE+DRAIN", ours, remediate.Desired{}, resume, false, ""},
		"over, rebooted without Slurm":   {"DOWN+DRAIN", ours, remediate.Desired{}, resume, false, ""},
		"over, and an administrator's":   {"IDLE+DRAIN", "DIMM - bob", remediate.Desired{}, show, true, ""},
		"over, and resumed":              {"IDLE", "", remediate.Desired{}, show, false, ""},
		"while Slurm means to reboot":    {"IDLE+DRAIN+REBOOT_REQUESTED", "gpuhealthd: xid-79 GPU-x (b-0)", held(), show, true, "gpuhealthd"},
		"an agent without memory":        {"IDLE+DRAIN", ours, remediate.Desired{Look: true}, show, true, "gpuhealthd"},
	} {
		t.Run(name, func(t *testing.T) {
			p := play(t)
			p.shows(c.state, c.reason)
			got, err := p.Apply(t.Context(), c.want)
			if asked := p.asked(); err != nil || asked != c.asked || got.Unschedulable != c.closed {
				t.Errorf("asked %q, %+v, %v", asked, got, err)
			}
			if (got.Note == nil) != (c.owner == "") || got.Note != nil && got.Note.Owner != c.owner {
				t.Errorf("the mark is %+v", got.Note)
			}
		})
	}
}

func TestAHealthyNodeIsLookedAtOnce(t *testing.T) {
	p := play(t)
	p.shows("IDLE", "")
	for range 3 {
		if _, err := p.Apply(t.Context(), remediate.Desired{State: remediate.Healthy}); err != nil {
			t.Fatal(err)
		}
	}
	if asked := p.asked(); asked != show {
		t.Errorf("asked %q", asked)
	}
}

// TestAResumeThatIsToComeIsWaitedFor: the drain that is seen then is about to go, and
// its end would look like an administrator's.
func TestAResumeThatIsToComeIsWaitedFor(t *testing.T) {
	p := play(t)
	p.shows("DOWN+DRAIN+REBOOT_ISSUED", ours+" : reboot issued")
	if _, err := p.Apply(t.Context(), held("b-1")); !errors.Is(err, remediate.ErrLater) || p.asked() != show {
		t.Error(err)
	}
}

func TestWhatIsForbidden(t *testing.T) {
	p := play(t)
	p.write("scontrol", "#!/bin/sh\necho 'slurm_update error: Invalid user id' >&2\nexit 1\n")
	if _, err := p.Apply(t.Context(), held("b-1")); !errors.Is(err, remediate.ErrForbidden) {
		t.Error(err)
	}
}
