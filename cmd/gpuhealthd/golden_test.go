package main

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gpuhealthd/gpuhealthd/test/golden"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
)

// call runs the command line in this process; stdin is empty.
func call(args ...string) (stdout string, err error) {
	var out bytes.Buffer
	cmd := root()
	cmd.SetArgs(args)
	cmd.SetIn(strings.NewReader(""))
	cmd.SetOut(&out)
	cmd.SetErr(&out)
	err = cmd.Execute()
	return out.String(), err
}

// TestHelp holds the help of every command, hidden ones included: flags and
// their defaults are what scripts and manifests are written against.
func TestHelp(t *testing.T) {
	var all strings.Builder
	walk(root(), func(cmd *cobra.Command) {
		path := strings.Fields(cmd.CommandPath())[1:]
		help, err := call(append(path, "--help")...)
		if err != nil {
			t.Errorf("%s: %v", cmd.CommandPath(), err)
		}
		all.WriteString("$ " + cmd.CommandPath() + " --help\n" + help + "\n")
	})
	golden.Check(t, "testdata/help.txt", all.String())
}

func walk(cmd *cobra.Command, visit func(*cobra.Command)) {
	visit(cmd)
	for _, sub := range cmd.Commands() {
		walk(sub, visit)
	}
}

func TestConfigPrint(t *testing.T) {
	for name, args := range map[string][]string{"config.yaml": {"config", "print"}, "config.json": {"config", "print", "--json"}} {
		got, err := call(args...)
		if err != nil {
			t.Fatal(err)
		}
		golden.Check(t, filepath.Join("testdata", name), got)
	}
}

func TestVersionJSON(t *testing.T) {
	got, err := call("version", "--json")
	if err != nil {
		t.Fatal(err)
	}
	var fields map[string]string
	if err := json.Unmarshal([]byte(got), &fields); err != nil {
		t.Fatal(err)
	}
	delete(fields, "revision") // only a build from git has one
	if diff := cmp.Diff([]string{"go", "platform", "version"}, slices.Sorted(maps.Keys(fields))); diff != "" {
		t.Error(diff)
	}
	if text, err := call("version"); err != nil || !strings.HasPrefix(text, "gpuhealthd "+version+" (go") {
		t.Errorf("%q, %v", text, err)
	}
}

// TestExitCodes: 0 is done, 2 is a wrong command line or what could not be read, 1 is any other error.
func TestExitCodes(t *testing.T) {
	bad := filepath.Join(t.TempDir(), "bad.yaml")
	if err := os.WriteFile(bad, []byte("mode: panic\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args string
		code int
	}{
		{"version", 0},
		{"config print", 0},
		{"config validate ../../packaging/config.yaml", 0},
		{"config validate " + bad, 2},
		{"config validate /nowhere.yaml", 2},
		{"config print " + bad, 2},
		{"run --config " + bad, 2},
		{"replay", 0},
		{"replay /nowhere.log", 2},
		{"explain 79", 0},
		{"explain what", 2},
		{"status --url http://127.0.0.1:1", 1},
		{"demo --sim /nowhere", 1},
		{"check --only xid-7x", 3},
		{"check --colour", 3},
		{"check now", 3},
		{"check --deadline 10ms", 3},
		{"check --config " + bad, 3},
		{"explain", 2},
		{"explain xid 79", 0},
		{"explain 79 80", 2},
		{"explain 79 --colour", 2},
		{"explain 79 --driver 570.86.15", 0},
		{"explain 79 --driver abc", 2},
		{"replay --driver abc", 2},
		{"replay --driver 570", 0},
		{"", 0},
		{"nothing", 2},
		{"config", 2},
		{"config valdate", 2},
		{"config validate", 2},
		{"probe", 2},
		{"version --colour", 2},
		{"version now", 2},
		{"version -o xml", 2},
	} {
		out, err := call(strings.Fields(c.args)...)
		code := 0
		if err != nil {
			code = exitCode(err)
		}
		if code != c.code {
			t.Errorf("gpuhealthd %s: exit %d (%v), want %d; it said %q", c.args, code, err, c.code, out)
		}
	}
}

func TestACommandThatIsMissingIsOfferedByName(t *testing.T) {
	for args, want := range map[string]string{
		"config":         "no command for gpuhealthd config; there are print, validate",
		"config valdate": `unknown command "valdate" for gpuhealthd config; there are print, validate`,
	} {
		if _, err := call(strings.Fields(args)...); err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", args, err, want)
		}
	}
}
