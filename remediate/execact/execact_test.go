package execact

import (
	"encoding/json"
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

// site is two programs that write down what they are asked.
type site struct {
	t    *testing.T
	dir  string
	conf Config
}

func newSite(t *testing.T) *site {
	s := &site{t: t, dir: t.TempDir()}
	program := filepath.Join(s.dir, "program")
	s.must(os.WriteFile(program, []byte("#!/bin/sh\ncat >> "+s.dir+"/asked\necho \"$1 says no\"\nexit $(cat "+s.dir+"/exit 2>/dev/null || echo 0)\n"), 0o755))
	s.conf = Config{Node: "n1", Quarantine: []string{program, "q"}, Release: []string{program, "r"}, Deadline: 10 * time.Second, Path: filepath.Join(s.dir, "exec.json")}
	return s
}

func (s *site) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

// exits sets how the programs end from now on.
func (s *site) exits(code int) {
	s.t.Helper()
	s.must(os.WriteFile(filepath.Join(s.dir, "exit"), fmt.Append(nil, code), 0o600))
}

// asked gives what the programs were asked since the last call, each as
// "command incident".
func (s *site) asked() string {
	s.t.Helper()
	path := filepath.Join(s.dir, "asked")
	text, _ := os.ReadFile(path) // one that is missing says nothing
	_ = os.Remove(path)
	var said []string
	for line := range strings.Lines(string(text)) {
		var r Request
		s.must(json.Unmarshal([]byte(line), &r))
		if r.Node != "n1" || len(r.Incident.GPUs) != 1 {
			s.t.Errorf("asked %s", line)
		}
		said = append(said, r.Command+" "+r.Incident.ID)
	}
	return strings.Join(said, ", ")
}

func held(id string) remediate.Desired {
	return remediate.Desired{State: remediate.Quarantined, Fault: "xid-79", Quarantine: true,
		Note: &remediate.Note{ID: id, Fault: "xid-79", GPUs: []string{"GPU-a"}, Radius: "node", Step: "reboot-requested"}}
}

var healthy = remediate.Desired{State: remediate.Healthy}

// TestALife: each line is another agent on the same disk, as after a crash.
func TestALife(t *testing.T) {
	s := newSite(t)
	stepped := held("b-1")
	stepped.Note.Step = "failed"
	for n, c := range []struct {
		want  remediate.Desired
		exit  int
		asked string
		held  bool
		fails bool
	}{
		{healthy, 0, "", false, false},
		{remediate.Desired{Look: true}, 0, "", false, false},
		{held("b-1"), 1, "quarantine b-1", false, true},
		{held("b-1"), 0, "quarantine b-1", true, false},
		{held("b-1"), 0, "", true, false},
		{stepped, 0, "", true, false},
		{remediate.Desired{Look: true}, 0, "", true, false},
		{held("b-2"), 0, "quarantine b-2", true, false},
		{healthy, 1, "release b-2", true, true},
		{healthy, 0, "release b-2", false, false},
		{healthy, 0, "", false, false},
		// One that failed may have done half of it.
		{held("b-3"), 1, "quarantine b-3", false, true},
		{healthy, 0, "release b-3", false, false},
	} {
		s.exits(c.exit)
		got, err := New(s.conf, slog.New(slog.DiscardHandler)).Apply(t.Context(), c.want)
		if asked := s.asked(); asked != c.asked || (err != nil) != c.fails || got.Unschedulable != c.held && !c.fails || !got.Exists {
			t.Errorf("line %d: asked %q, %+v, %v", n, asked, got, err)
		}
		if c.held && !c.fails && (got.Note == nil || got.Note.Owner != remediate.OwnerAgent || !got.Tainted) {
			t.Errorf("line %d: the mark is %+v", n, got)
		}
	}
}

func TestWhatAProgramSaysIsTold(t *testing.T) {
	s := newSite(t)
	a := New(s.conf, slog.New(slog.DiscardHandler))
	s.exits(noPermission)
	_, err := a.Apply(t.Context(), held("b-1"))
	if !errors.Is(err, remediate.ErrForbidden) || !strings.Contains(err.Error(), "q says no") {
		t.Error(err)
	}
	s.conf.Quarantine, s.conf.Deadline = []string{"sleep", "60"}, 50*time.Millisecond
	if _, err := New(s.conf, slog.New(slog.DiscardHandler)).Apply(t.Context(), held("b-1")); err == nil || !strings.Contains(err.Error(), "sleep was ended past exec.deadline, 50ms") {
		t.Error(err)
	}
}

func TestWithoutADiskTheNodeIsTakenAllTheSame(t *testing.T) {
	s := newSite(t)
	s.conf.Path = filepath.Join(s.dir, "nowhere", "exec.json")
	if _, err := New(s.conf, slog.New(slog.DiscardHandler)).Apply(t.Context(), held("b-1")); err == nil || s.asked() != "quarantine b-1" {
		t.Error(err)
	}
}

func TestADamagedFileIsNoMemory(t *testing.T) {
	s := newSite(t)
	s.must(os.WriteFile(s.conf.Path, []byte("{"), 0o600))
	if _, err := New(s.conf, slog.New(slog.DiscardHandler)).Apply(t.Context(), healthy); err == nil || !strings.Contains(err.Error(), "is damaged") {
		t.Error(err)
	}
	if _, err := New(s.conf, slog.New(slog.DiscardHandler)).Apply(t.Context(), held("b-1")); err != nil || s.asked() != "quarantine b-1" {
		t.Error(err)
	}
}
