package main

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/gpuhealthd/gpuhealthd/test/golden"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/gpuhealthd/gpuhealthd/collector/nvml"
	"github.com/gpuhealthd/gpuhealthd/internal/evidence"
	"github.com/gpuhealthd/gpuhealthd/internal/httpd"
	"github.com/gpuhealthd/gpuhealthd/remediate"
)

// story is the bundle of the incident that failed() has open.
func story() []evidence.Piece {
	s := failed()
	i, board := s.Incidents[0], s.GPUs[1]
	at := func(seconds float64) time.Time {
		return i.Verdict.Opened.Add(time.Duration(seconds * float64(time.Second)))
	}
	line := func(seconds float64, micros uint64, text string) evidence.Piece {
		return evidence.Piece{Kind: evidence.KindLine, At: at(seconds), Line: &evidence.Line{Boot: s.BootID, Sequence: 1200 + micros, Micros: 4_000_000 + micros, Text: text}}
	}
	sample := func(seconds float64, celsius int, errors uint64) evidence.Piece {
		g := nvml.GPU{Identity: board.Identity, Temperature: nvml.Temperature{GPU: &celsius}}
		g.ECC.Volatile.SRAMUncorrected = &errors
		return evidence.Piece{Kind: evidence.KindSample, At: at(seconds), Sample: &evidence.Sample{GPUs: []nvml.GPU{g}}}
	}
	first, last := quarantined().Incidents[0].Verdict, i.Verdict
	return []evidence.Piece{
		{Kind: evidence.KindNode, At: at(0), Node: &evidence.Node{Agent: "0.1.0", Name: "gpu-7", Boot: s.BootID, Driver: "570.195.03",
			GPUs: []evidence.GPU{{Identity: s.GPUs[0].Identity}, s.Replacements[0].GPUs[0]}}},
		sample(-5, 61, 0), sample(-1, 62, 0),
		line(-0.1, 900, "eth0: renamed from veth\x1b[2J12"),
		line(0, 1000, "NVRM: Xid (PCI:0000:2b:00): 95, pid=4712, name=python3, Uncontained: FBHUB. RST: Yes, D-RST: No"),
		{Kind: evidence.KindVerdict, At: at(0), Verdict: &first},
		{Kind: evidence.KindProgress, At: at(0), Progress: &evidence.Progress{State: remediate.Quarantined, Claimed: true,
			Steps: []remediate.Step{{Kind: remediate.StepCordon, Status: remediate.Pending, Since: at(0)}}}},
		{Kind: evidence.KindEvent, At: at(0.01), Event: &remediate.Event{Key: first.ID + "/NodeQuarantined", Reason: "NodeQuarantined", Message: "cordoned and tainted for xid-95"}},
		{Kind: evidence.KindSample, At: at(3), Sample: &evidence.Sample{Trouble: "nvmlDeviceGetFieldValues does not return"}},
		{Kind: evidence.KindDeed, At: at(4), Deed: &remediate.Deed{ID: "reset-1", Kind: remediate.StepReset, GPUs: first.GPUs, Fault: first.Class, Deadline: at(304)}},
		{Kind: evidence.KindOutcome, At: at(4.5), Outcome: &remediate.Outcome{Deed: "reset-1", Result: remediate.Refused, Text: "a process holds the GPU",
			Holders: []remediate.Holder{{GPU: board.UUID, PID: 4712, Process: "python3", Pod: "train/job-0"}}}},
		{Kind: evidence.KindVerdict, At: at(5), Verdict: &last},
		{Kind: evidence.KindProgress, At: at(5), Progress: &evidence.Progress{State: remediate.Failed, Claimed: true, Contained: true,
			Steps: []remediate.Step{{Kind: remediate.StepCordon, Status: remediate.Done, Since: at(0.02)}, {Kind: remediate.StepReplace, Status: remediate.Requested, Since: at(5)}}}},
		{Kind: evidence.KindReplacement, At: at(5), Replace: &s.Replacements[0]},
		{Kind: evidence.KindDiag, At: at(60), Diag: json.RawMessage(`{"level":3,"passed":false}`)},
		sample(65, 40, 12),
		{Kind: evidence.KindMissing, At: at(65), Missing: &evidence.Missing{Pieces: 12, Why: "a flood"}},
	}
}

// toldIn writes the story down, and a second incident that is over.
func toldIn(t *testing.T) *evidence.Dir {
	t.Helper()
	d := evidence.NewDir(filepath.Join(t.TempDir(), "evidence"), evidence.Limits{Keep: 9, MaxBytes: 1 << 20})
	s := failed()
	over := s.History[0]
	over.Verdict.Opened = noon.Add(-3 * time.Hour)
	progress := evidence.ProgressOf(over)
	for id, pieces := range map[string][]evidence.Piece{
		s.Incidents[0].Verdict.ID: story(),
		over.Verdict.ID: {{Kind: evidence.KindVerdict, At: noon, Verdict: &over.Verdict}, {Kind: evidence.KindProgress, At: noon, Progress: &progress},
			{Kind: evidence.KindEnd, At: noon}},
	} {
		if err := d.Append(id, pieces); err != nil {
			t.Fatal(err)
		}
	}
	return d
}

// bundled answers like a daemon that has the folder.
func bundled(t *testing.T, d *evidence.Dir) string {
	t.Helper()
	s := failed()
	s.History[0].Verdict.Opened = noon.Add(-3 * time.Hour)
	handler := httpd.Handler(fixed{status: s}, d, prometheus.NewRegistry(), "test")
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return server.URL
}

// sinceOpened is the one thing in the list that the present changes.
var sinceOpened = regexp.MustCompile(`open for [0-9hms]+ *`)

// TestEvents holds what the commands print, from the daemon and from the folder:
// the same of one incident.
func TestEvents(t *testing.T) {
	d := toldIn(t)
	url := bundled(t, d)
	for _, source := range [][]string{{"--url", url}, {"--dir", d.String()}} {
		got, err := call(append([]string{"events"}, source...)...)
		if err != nil {
			t.Fatal(err)
		}
		golden.Check(t, "testdata/events.txt", sinceOpened.ReplaceAllString(got, "open for … "))
		if got, err = call(append([]string{"events", "show", "11111111-1"}, source...)...); err != nil {
			t.Fatal(err)
		}
		golden.Check(t, "testdata/events-show.txt", got)
		got, err = call(append([]string{"events", "-o", "json"}, source...)...)
		var list []evidence.Summary
		if err != nil || json.Unmarshal([]byte(got), &list) != nil || len(list) != 2 || list[0].ID != "11111111-1200" || list[0].Replacement == nil {
			t.Errorf("%v, %s", err, got)
		}
	}
	text, err := call("events", "show", "11111111-7", "--dir", d.String(), "--json")
	var b evidence.Bundle
	if err != nil || json.Unmarshal([]byte(text), &b) != nil || b.ID != "11111111-7" || len(b.Pieces) != 3 {
		t.Errorf("%v, %s", err, text)
	}
}

func TestEventsExport(t *testing.T) {
	d := toldIn(t)
	file := filepath.Join(t.TempDir(), "ticket.tar.gz")
	text, err := call("events", "export", "11111111-1200", "--dir", d.String(), "-f", file)
	if err != nil || !strings.Contains(text, file) {
		t.Fatal(err, text)
	}
	onDisk, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	text, err = call("events", "export", "11111111-1200", "--dir", d.String(), "-f", "-")
	if err != nil || text != string(onDisk) || !bytes.HasPrefix(onDisk, []byte{0x1f, 0x8b}) {
		t.Errorf("standard output is not the file: %v", err)
	}
	if info, err := os.Stat(file); err != nil || info.Mode() != 0o600 {
		t.Errorf("%v, %v", err, info.Mode())
	}
	if _, err := call("events", "export", "11111111-1200", "--dir", d.String(), "-f", "/nowhere/x"); err == nil || !strings.Contains(err.Error(), fs.ErrNotExist.Error()[:4]) && !strings.Contains(err.Error(), "no such file") {
		t.Errorf("an impossible file: %v", err)
	}
}

func TestEventsThatAreNotThere(t *testing.T) {
	d := toldIn(t)
	if err := os.WriteFile(d.Path("99999999-1"), []byte("no JSON\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	url := bundled(t, evidence.NewDir(t.TempDir(), evidence.Limits{}))
	for name, c := range map[string]struct {
		args string
		code int
		says []string
	}{
		"unknown":     {"events show 7 --dir " + d.String(), 2, []string{`no incident "7"; there are `, "11111111-1200", "11111111-7"}},
		"ambiguous":   {"events show 1111 --dir " + d.String(), 2, []string{`"1111" may be any of 11111111-1200, 11111111-7`}},
		"damaged":     {"events show 9 --dir " + d.String(), 2, []string{"99999999-1", "not a bundle of evidence"}},
		"no bundle":   {"events show 11111111-1 --url " + url, 2, []string{"11111111-1200 (sram-threshold) has no bundle"}},
		"no folder":   {"events --dir /nowhere", 2, []string{"/nowhere is not a folder"}},
		"no incident": {"events show 7 --dir " + t.TempDir(), 2, []string{"there are no incidents"}},
		"no daemon":   {"events --url http://127.0.0.1:1", 1, []string{"connection refused", "--dir"}},
		"no id":       {"events show", 2, []string{"accepts 1 arg"}},
		"no command":  {"events shew", 2, []string{`unknown command "shew" for gpuhealthd events; there are export, show`}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := call(strings.Fields(c.args)...)
			if err == nil || exitCode(err) != c.code {
				t.Fatalf("%v, want exit %d", err, c.code)
			}
			for _, text := range c.says {
				if !strings.Contains(err.Error(), text) {
					t.Errorf("no %q in %q", text, err)
				}
			}
		})
	}
}

// A bundle that was cut is shown up to the cut, and the list says so.
func TestACutBundleIsShown(t *testing.T) {
	d := toldIn(t)
	whole, err := d.Raw("11111111-7")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(d.Path("11111111-7"), whole[:len(whole)-5], 0o600); err != nil {
		t.Fatal(err)
	}
	text, err := call("events", "show", "11111111-7", "--dir", d.String())
	if err != nil || !strings.Contains(text, "Damaged: line 3 is cut") || !strings.Contains(text, "xid-79") {
		t.Errorf("%v, %s", err, text)
	}
	if text, err := call("events", "--dir", d.String()); err != nil || !strings.Contains(text, "1 KiB, damaged") {
		t.Errorf("%v, %s", err, text)
	}
}
