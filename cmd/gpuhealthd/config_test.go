package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A program that is missing here is told, and no reason to refuse a file that may be
// for other machines.
func TestValidateWarnsOfMissingPrograms(t *testing.T) {
	path := filepath.Join(t.TempDir(), "c.yaml")
	if err := os.WriteFile(path, []byte("{mode: repair, repair: {drain: {mode: command, command: [sh]}, diag: {mode: command, command: [/nonexistent/dcgmi]}}}"), 0o600); err != nil {
		t.Fatal(err)
	}
	var out, errs bytes.Buffer
	cmd := root()
	cmd.SetOut(&out)
	cmd.SetErr(&errs)
	cmd.SetArgs([]string{"config", "validate", path})
	if err := cmd.Execute(); err != nil {
		t.Fatal(err)
	}
	want := path + ": warning: repair.diag.command: on this machine: "
	if got := errs.String(); !strings.HasPrefix(got, want) || !strings.Contains(got, "/nonexistent/dcgmi") || strings.Count(got, "\n") != 1 {
		t.Errorf("%q, want one line that begins with %q", got, want)
	}
	if out.String() != path+": valid\n" {
		t.Errorf("%q", out.String())
	}
}
