package main

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
)

const line79 = "[   14.650646] NVRM: Xid (PCI:0000:3b:00): 79, GPU has fallen off the bus.\n"

// command runs the program in this process and gives what it printed and its
// exit status.
func command(t *testing.T, in string, args ...string) (out string, status int, err error) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	cmd := root()
	cmd.SetArgs(args)
	cmd.SetIn(strings.NewReader(in))
	cmd.SetOut(&stdout)
	cmd.SetErr(&stderr)
	if err = cmd.Execute(); err != nil {
		status = exitCode(err)
	}
	if stderr.Len() > 0 {
		t.Errorf("%q prints on standard error, which is no terminal: %s", args, &stderr)
	}
	return stdout.String(), status, err
}

func write(t *testing.T, name string, data []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

func gzipped(t *testing.T, text string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func zstded(t *testing.T, text string) []byte {
	t.Helper()
	w, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	return w.EncodeAll([]byte(text), nil)
}

// Every compression gives the same verdict, as do standard input and two files.
func TestReplayReads(t *testing.T) {
	plain := write(t, "plain.log", []byte(line79))
	for _, args := range [][]string{
		{plain},
		{write(t, "log.gz", gzipped(t, line79))},
		{write(t, "log.zst", zstded(t, line79))},
		{},
		{plain, plain},
		{"--topology", "hgx-h100", plain},
		{"--topology", write(t, "node.yaml", []byte("gpus: [0000:3b:00, 0000:4b:00]")), plain},
	} {
		out, status, err := command(t, line79, append([]string{"replay", "--json"}, args...)...)
		if status != 0 || !strings.Contains(out, `"fault":"xid-79"`) || !strings.Contains(out, `"action":"reboot"`) {
			t.Errorf("%q: exit %d, %v\n%s", args, status, err, out)
		}
		if strings.Contains(strings.Join(args, " "), "node.yaml") && !strings.Contains(out, `"affected":["0000:3b:00","0000:4b:00"]`) {
			t.Errorf("the topology's GPUs are not inside:\n%s", out)
		}
	}
}

// What cannot be read is exit 2, and names the file and how far it was read.
func TestReplayCannotRead(t *testing.T) {
	whole := gzipped(t, strings.Repeat(line79, 1000))
	for name, path := range map[string]string{
		"gzip, cut off":       write(t, "cut.gz", whole[:len(whole)/2]),
		"gzip, damaged":       write(t, "bad.gz", append([]byte{0x1f, 0x8b}, "no gzip at all"...)),
		"zstd, damaged":       write(t, "bad.zst", append([]byte{0x28, 0xb5, 0x2f, 0xfd}, bytes.Repeat([]byte{0xff}, 99)...)),
		"zstd, cut off":       write(t, "cut.zst", zstded(t, strings.Repeat(line79, 10))[:20]),
		"a folder, not a log": t.TempDir(),
	} {
		_, status, err := command(t, "", "replay", path)
		if status != 2 || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), "byte ") {
			t.Errorf("%s: exit %d, %v", name, status, err)
		}
	}
	// What stands before the damage is shown, in both forms.
	for _, data := range [][]byte{whole[:len(whole)-9], append(whole[:len(whole):len(whole)], "garbage"...), zstded(t, strings.Repeat(line79, 100_000))[:512]} {
		path := write(t, "damaged", data)
		text, status, err := command(t, "", "replay", path)
		if status != 2 || !strings.Contains(err.Error(), path) || !strings.Contains(text, "Would be done") {
			t.Errorf("text: exit %d, %v\n%.500s", status, err, text)
		}
		if text, status, _ = command(t, "", "replay", "--json", path); status != 2 || !strings.Contains(text, `"fault":"xid-79"`) {
			t.Errorf("JSON: exit %d\n%.500s", status, text)
		}
	}
	for _, args := range [][]string{
		{"replay", filepath.Join(t.TempDir(), "missing.log")},
		{"replay", "--topology", "no-such-machine"},
		{"replay", "--topology", write(t, "bad.yaml", []byte("gpus: [x]"))},
	} {
		if _, status, err := command(t, line79, args...); status != 2 || !strings.Contains(err.Error(), args[len(args)-1]) {
			t.Errorf("%q: exit %d, %v", args, status, err)
		}
	}
}

// A log of no known form is not a clean one.
func TestReplayUnknownForm(t *testing.T) {
	const said = "No line of this log has a form that is known"
	for log, want := range map[string]bool{"GET / 200\nGET /x 404\n": true, "": false, line79: false, "[ 1.5] usb 1-1: reset\n": false} {
		if out, status, _ := command(t, log, "replay"); status != 0 || strings.Contains(out, said) != want {
			t.Errorf("%q: exit %d\n%s", log, status, out)
		}
	}
}

// A guest's console is believed only where that was asked for.
func TestReplayKata(t *testing.T) {
	line := `Mar  3 09:00:02 node-a containerd[99]: time="2026-03-03T09:00:02Z" level=debug msg="reading guest console" vmconsole="[ 5.4] NVRM: Xid (PCI:0000:01:00): 79, gone"` + "\n"
	if out, _, _ := command(t, line, "replay", "--json"); out != "" {
		t.Errorf("a guest was believed:\n%s", out)
	}
	if out, _, _ := command(t, line, "replay", "--json", "--kata"); !strings.Contains(out, `"fault":"xid-79"`) {
		t.Errorf("a guest was not heard:\n%s", out)
	}
}

// Both spellings print JSON, on every command that prints.
func TestJSONOnEveryCommand(t *testing.T) {
	for _, args := range [][]string{{"replay"}, {"explain", "79"}, {"version"}, {"config", "print"}} {
		for _, flag := range [][]string{{"--json"}, {"-o", "json"}, {"--output=json"}} {
			out, status, err := command(t, line79, append(args, flag...)...)
			first, _, _ := strings.Cut(out, "\n{")
			if status != 0 || !json.Valid([]byte(first)) {
				t.Errorf("%q %q: exit %d, %v\n%s", args, flag, status, err, out)
			}
		}
		if out, _, _ := command(t, line79, append(args, "-o", "text")...); json.Valid([]byte(out)) {
			t.Errorf("%q: text is JSON", args)
		}
		if _, status, err := command(t, line79, append(args, "-o", "yaml")...); status == 0 || !strings.Contains(err.Error(), "not text or json") {
			t.Errorf("%q: exit %d, %v", args, status, err)
		}
	}
}

func TestExplainExit(t *testing.T) {
	for question, want := range map[string]int{"79": 0, "12345": 0, "xid-48": 0, "usb 1-1: reset": 0, "what?": 2} {
		if _, status, err := command(t, "", "explain", question); status != want {
			t.Errorf("%s: exit %d, %v; want %d", question, status, err, want)
		}
	}
}
