package slurm

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gpuhealthd/gpuhealthd/remediate"
)

func TestReasons(t *testing.T) {
	for want, n := range map[string]remediate.Note{
		"gpuhealthd: xid-79 GPU-a (b-1)":            {Fault: "xid-79", GPUs: []string{"GPU-a"}, ID: "b-1"},
		"gpuhealthd: xid-79 GPU-a and 2 more (b-1)": {Fault: "xid-79", GPUs: []string{"GPU-a", "GPU-b", "GPU-c"}, ID: "b-1"},
		"gpuhealthd: agent-blind (b-p1)":            {Fault: "agent-blind", ID: "b-p1"},
		"gpuhealthd: xid-31 0000:3b:00 (b-1)":       {Fault: "xid-31", GPUs: []string{"0000:3b:00"}, ID: "b-1"},
		"gpuhealthd: x?y??z ? (?)":                  {Fault: "x y\n\"z", GPUs: []string{""}, ID: ""},
		"gpuhealthd: a???? b?c (d??)":               {Fault: "a) [é", GPUs: []string{"b\x1bc"}, ID: "d)("},
	} {
		if got := reasonOf(n); got != want {
			t.Errorf("%+v: %q, want %q", n, got, want)
		}
	}
}

func TestWhoseAReasonIs(t *testing.T) {
	when := time.Date(2026, 11, 30, 13, 35, 32, 0, time.Local)
	for _, c := range []struct {
		shown string
		want  *remediate.Note
	}{
		{"gpuhealthd: xid-79 GPU-a (b-1) [root@2026-11-30T13:35:32]", &remediate.Note{ID: "b-1", Fault: "xid-79", GPUs: []string{"GPU-a"}, Opened: when, Radius: "node", Owner: remediate.OwnerAgent}},
		{"gpuhealthd: xid-79 GPU-a and 2 more (b-1) : reboot issued [root@2026-11-30T13:35:32]", &remediate.Note{ID: "b-1", Fault: "xid-79", GPUs: []string{"GPU-a"}, Opened: when, Radius: "node", Owner: remediate.OwnerAgent}},
		{"gpuhealthd: agent-blind (b-p1)", &remediate.Note{ID: "b-p1", Fault: "agent-blind", GPUs: []string{}, Radius: "node", Owner: remediate.OwnerAgent}},
		{"", nil},
		{"DIMM B2 - bob [bob@2026-11-30T13:35:32]", nil},
		{"gpuhealthd: xid-79 GPU-a (b-1), keep - bob [bob@2026-11-30T13:35:32]", nil},
		{"see gpuhealthd: xid-79 GPU-a (b-1)", nil},
		{"gpuhealthd check: faulty: xid-79 (b-1)", nil},
		{"NHC: check_gpuhealthd: faulty", nil},
		{"Reboot ASAP : reboot issued [root@2026-11-30T13:35:36]", nil},
	} {
		if diff := cmp.Diff(c.want, noteOf(c.shown)); diff != "" {
			t.Errorf("%q: %s", c.shown, diff)
		}
	}
}

// FuzzReason: whatever a fault or a GPU is called, the reason is one line of safe
// characters, and is known as ours when it is read back.
func FuzzReason(f *testing.F) {
	f.Add("xid-79", "GPU-a", "b-1")
	f.Add("x) [root@2026]", "\n; reboot", "' \" $(id)")
	f.Fuzz(func(t *testing.T, class, gpu, id string) {
		reason := reasonOf(remediate.Note{Fault: class, GPUs: []string{gpu, gpu}, ID: id})
		if strings.ContainsAny(reason, "\n\"'$;`\\[]\x1b") || len(reason) > 300 {
			t.Errorf("unsafe: %q", reason)
		}
		if n := noteOf(reason + " [root@2026-11-30T13:35:32]"); n == nil || n.ID != word(id) {
			t.Errorf("%q is read back as %+v", reason, n)
		}
	})
}
