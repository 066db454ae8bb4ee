package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestTheManual: each command has a page of its own name, with what a page has to have,
// and no other.
func TestTheManual(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("SOURCE_DATE_EPOCH", "1796000000")
	if _, err := call("man", dir); err != nil {
		t.Fatal(err)
	}
	for name, wants := range map[string][]string{
		"gpuhealthd.8":        {`.TH GPUHEALTHD 8 2026-11-30 "gpuhealthd ` + version, ".SH EXIT STATUS\nExit 0 for what is done", `.BR gpuhealthd\-check (8),`},
		"gpuhealthd-check.8":  {`.TH GPUHEALTHD\-CHECK 8 `, ".SH FILES\n", "\n.I /etc/gpuhealthd/config.yaml\n", `\-\-only checks `, `\-\-json  `, "Exit 0 healthy, 1 degraded", `.BR gpuhealthd (8)`},
		"gpuhealthd-status.8": {`.SH NAME` + "\n" + `gpuhealthd\-status \- show what the running`, "Exit 0 for what is done"},
	} {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range wants {
			if !strings.Contains(string(text), want) {
				t.Errorf("%s has no %q:\n%s", name, want, text)
			}
		}
	}
	all, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(all) < 10 {
		t.Errorf("%d pages, %v", len(all), err)
	}
	for _, path := range all {
		if name := filepath.Base(path); !strings.HasSuffix(name, ".8") || strings.Contains(name, "probe") {
			t.Errorf("there is a page %s", name)
		}
		if groff, err := exec.LookPath("groff"); err == nil {
			if said, err := exec.Command(groff, "-K", "utf8", "-T", "utf8", "-man", "-ww", "-z", path).CombinedOutput(); err != nil || len(said) > 0 {
				t.Errorf("%s: %v\n%s", path, err, said)
			}
		}
	}
	if _, err := manDate("today"); err == nil {
		t.Error("a date that is none is taken")
	}
}
