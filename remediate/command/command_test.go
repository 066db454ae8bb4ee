package command

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"golang.org/x/sys/unix"

	"github.com/gpuhealthd/gpuhealthd/fault"
	"github.com/gpuhealthd/gpuhealthd/remediate"
	"github.com/gpuhealthd/gpuhealthd/xidparse"
)

func shell(script string) []string { return []string{"/bin/sh", "-c", script} }

func TestRun(t *testing.T) {
	tests := []struct {
		name  string
		argv  []string
		stdin string
		want  Result
		fails string
	}{
		{name: "success", argv: shell("cat; echo done >&2"), stdin: "in\n", want: Result{Output: "in\ndone"}},
		{name: "failure", argv: shell("echo no; exit 3"), want: Result{Exit: 3, Output: "no"}},
		{name: "signal", argv: shell("kill -KILL $$"), want: Result{Exit: -1, Signal: "killed"}},
		{name: "stdin that nobody reads", argv: shell("exit 0"), stdin: strings.Repeat("x", 1<<20)},
		{name: "control characters", argv: shell(`printf 'a\033[31mb\000c\377\n\td'`), want: Result{Output: "a�[31mb�c�\n\td"}},
		{name: "no such program", argv: []string{"/nonexistent/drain"}, want: Result{Exit: -1}, fails: "/nonexistent/drain"},
		{name: "no program", want: Result{Exit: -1}, fails: "no program"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, err := Run(t.Context(), test.argv, []byte(test.stdin))
			if got != test.want {
				t.Errorf("got %+v, want %+v", got, test.want)
			}
			if (err != nil) != (test.fails != "") || err != nil && !strings.Contains(err.Error(), test.fails) {
				t.Errorf("error %v, want one with %q", err, test.fails)
			}
		})
	}
}

func TestOutputIsBounded(t *testing.T) {
	got, err := Run(t.Context(), shell(`head -c 1000000 /dev/zero; echo; echo the end`), nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Output) > OutputLimit || !utf8.ValidString(got.Output) || !strings.HasSuffix(got.Output, "the end") {
		t.Errorf("kept %d bytes, to %q", len(got.Output), got.Output[max(0, len(got.Output)-20):])
	}
}

// pid waits for the program to write the process id that it shall be judged by.
func pid(t *testing.T, file string) int {
	t.Helper()
	for range 1000 {
		text, err := os.ReadFile(file)
		if n, bad := strconv.Atoi(strings.TrimSpace(string(text))); err == nil && bad == nil {
			return n
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatalf("%s: no process id", file)
	return 0
}

// gone fails the test unless the process ends: it is killed, but by whom it is
// waited for we do not decide.
func gone(t *testing.T, pid int) {
	t.Helper()
	for range 1000 {
		stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
		if err != nil || strings.Contains(string(stat), ") Z ") {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Errorf("process %d is still there", pid)
}

func TestNothingIsLeftBehind(t *testing.T) {
	file := filepath.Join(t.TempDir(), "pid")
	got, err := Run(t.Context(), shell(`sleep 1000 & echo $! >`+file), nil)
	if err != nil || got.Exit != 0 {
		t.Fatalf("got %+v, %v", got, err)
	}
	gone(t, pid(t, file))
}

func TestDeadlineEndsTheWholeGroup(t *testing.T) {
	tests := []struct{ name, trap, signal string }{
		{"by SIGTERM", "", unix.SIGTERM.String()},
		{"by SIGKILL", "trap '' TERM; ", unix.SIGKILL.String()},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "pid")
			ctx, cancel := context.WithCancel(t.Context())
			go func() {
				pid(t, file)
				cancel()
			}()
			got, err := Run(ctx, shell(test.trap+`sleep 1000 & echo $! >`+file+`; while :; do wait; done`), nil)
			if !errors.Is(err, context.Canceled) || got.Signal != test.signal {
				t.Errorf("got %+v, %v; want the end by %s", got, err, test.signal)
			}
			gone(t, pid(t, file))
		})
	}
}

func TestDo(t *testing.T) {
	deed := remediate.Deed{
		ID: "drain-7", Kind: remediate.StepDrain,
		GPUs: []fault.Device{{PCI: xidparse.PCI{Bus: 0x3b}, UUID: "GPU-1"}, {PCI: xidparse.PCI{Bus: 0x4b}}},
	}
	expired, cancel := context.WithTimeout(t.Context(), 0)
	defer cancel()
	aborted, abort := context.WithCancel(t.Context())
	abort()
	tests := []struct {
		name   string
		ctx    context.Context
		argv   []string
		result remediate.Result
		text   string
	}{
		{"success", t.Context(), shell(`echo $GPUHEALTHD_DEED $GPUHEALTHD_KIND $GPUHEALTHD_GPUS $GPUHEALTHD_PCI`), remediate.Succeeded, "drain-7 drain GPU-1 0000:3b:00,0000:4b:00"},
		{"refusal", t.Context(), shell("echo job 7 runs; exit 2"), remediate.Unsuccessful, "exit status 2\njob 7 runs"},
		{"signal", t.Context(), shell("kill -KILL $$"), remediate.Unsuccessful, "ended by signal: killed"},
		{"deadline", expired, shell("exit 0"), remediate.Unsuccessful, "run /bin/sh: context deadline exceeded"},
		{"called off", aborted, shell("exit 0"), remediate.Aborted, "run /bin/sh: context canceled"},
		{"nobody", t.Context(), []string{"/nonexistent/drain"}, remediate.Unavailable, "run /nonexistent/drain: fork/exec /nonexistent/drain: no such file or directory"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got := Do(test.ctx, test.argv, deed)
			if got.Deed != deed.ID || got.Result != test.result || got.Text != test.text {
				t.Errorf("got %+v, want %s: %s", got, test.result, test.text)
			}
		})
	}
}

func TestDoHandsOverTheDeed(t *testing.T) {
	deed := remediate.Deed{ID: "drain-7", Kind: remediate.StepDrain, Reason: "line\nbreak", Force: true}
	got := Do(t.Context(), shell("cat"), deed)
	var read remediate.Deed
	if err := json.Unmarshal([]byte(got.Text), &read); err != nil {
		t.Fatalf("%q: %v", got.Text, err)
	}
	if read.ID != deed.ID || read.Reason != deed.Reason || !read.Force {
		t.Errorf("the program read %+v", read)
	}
}
