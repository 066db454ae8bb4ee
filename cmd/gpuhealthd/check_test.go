package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gpuhealthd/gpuhealthd/internal/config"
)

// TestAMisusedCheckAnswersToo: on standard output, since that is what is read, in the
// form that was asked for, and with the status of what is not known.
func TestAMisusedCheckAnswersToo(t *testing.T) {
	bad := filepath.Join(t.TempDir(), "bad.yaml")
	if err := os.WriteFile(bad, []byte("mode: panic\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for args, want := range map[string]string{
		"check --deadline 1ms":                     "unknown: usage: --deadline: 1ms is less than 1s\n",
		"check --nagios --deadline 1ms":            "GPU UNKNOWN - usage: --deadline: 1ms is less than 1s | time=0.000s findings=1\n",
		"check --nagios now":                       `GPU UNKNOWN - usage: check takes no arguments, and there is "now" |`,
		"check --nagios --only nosuch-*":           `"nosuch-*" is no check: there are driver, kernel-log and the classes of fault, such as xid-79; see gpuhealthd check --help | `,
		"check -o json --colour":                   `{"result":"unknown","findings":[{"check":"usage","result":"unknown","text":"unknown flag: --colour; see gpuhealthd check --help"}],"seconds":0}`,
		"check --nagios -o json":                   "--nagios and -o json are two formats: give one",
		"check --config " + bad:                    bad + `:1: mode: \"panic\" is not`,
		"check --config " + bad + " --nagios":      bad + `:1: mode: "panic" is not`,
		"check --config /nowhere.yaml":             "/nowhere.yaml: no such file",
		"check --url http://127.0.0.1:1 --skip \t": `"" is no check`,
	} {
		said, err := call(strings.Split(args, " ")...)
		if exit := (exitError{}); !errors.As(err, &exit) || exit.code != 3 || exit.err != nil {
			t.Errorf("%s: %v", args, err)
		}
		if want = strings.ReplaceAll(want, `\"`, `"`); !strings.Contains(said, want) || strings.Count(said, "\n") != 1 {
			t.Errorf("%s: it says %q, and not %q", args, said, want)
		}
	}
}

// TestTheHostsConfiguration: the file of this host need not be there nor be ours to
// read; one that is named must.
func TestTheHostsConfiguration(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "config.yaml")
	if cfg, err := load(file, false); err != nil || cfg.HTTP != config.Default().HTTP {
		t.Errorf("of a file that is not there: %+v, %v", cfg.HTTP, err)
	}
	if _, err := load(file, true); exitCode(err) != 2 {
		t.Errorf("of a file that is not there, and named: %v", err)
	}
	if err := os.WriteFile(file, []byte("http: {listen: 127.0.0.1:4711}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if cfg, err := load(file, false); err != nil || cfg.HTTP.URL() != "http://127.0.0.1:4711" {
		t.Errorf("%s, %v", cfg.HTTP.URL(), err)
	}
	if err := os.WriteFile(file, []byte("colour: red\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := load(file, false); exitCode(err) != 2 {
		t.Errorf("of a file that is wrong: %v", err)
	}
}

// TestWhereTheDaemonAnswers: by its configuration, unless the command line says so.
func TestWhereTheDaemonAnswers(t *testing.T) {
	file := filepath.Join(t.TempDir(), "config.yaml")
	for listen, want := range map[string]string{"127.0.0.1:1": "http://127.0.0.1:1/api/v1", `""`: `http.listen is ""; say where with --url`} {
		if err := os.WriteFile(file, []byte("http: {listen: "+listen+"}\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, command := range []string{"status", "topology"} {
			if _, err := call(command, "--config", file); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s, which listens on %s: %v", command, listen, err)
			}
			if _, err := call(command, "--config", file, "--url", "http://127.0.0.1:2"); err == nil || !strings.Contains(err.Error(), "127.0.0.1:2") {
				t.Errorf("%s --url: %v", command, err)
			}
		}
	}
	if err := os.WriteFile(file, []byte("http: {listen: ''}\nstate: {path: /nowhere/state.db}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := call("events", "--config", file); err == nil || !strings.Contains(err.Error(), "/nowhere/evidence is not a folder") {
		t.Errorf("events of a daemon that answers nowhere: %v", err)
	}
}

func TestShellsAreOfferedNames(t *testing.T) {
	for args, want := range map[string][]string{
		"check --only xid-7":         {"xid-74\n", "xid-79\n"},
		"check --skip driver,links-": {"driver,links-down\n"},
		"check -o ":                  {"text\njson\n"},
		"topology -o ":               {"text\njson\ndot\n"},
		"status --output j":          {"json\n"},
	} {
		said, err := call(append([]string{"__complete"}, strings.Split(args, " ")...)...)
		for _, name := range want {
			if err != nil || !strings.Contains(said, name) {
				t.Errorf("%s: no %q in %q, %v", args, name, said, err)
			}
		}
	}
}
