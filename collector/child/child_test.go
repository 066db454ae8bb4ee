package child

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// asChild makes the test binary a child that behaves as its value says.
const asChild = "GPUHEALTHD_TEST_CHILD"

// maxLine bounds the lines of these children.
const maxLine = 256

func TestMain(m *testing.M) {
	switch os.Getenv(asChild) {
	case "":
		os.Exit(m.Run())
	case "echo":
		fmt.Println("+begin")
		for in := bufio.NewScanner(os.Stdin); in.Scan(); {
			fmt.Println("+" + in.Text())
		}
	case "symbol":
		fmt.Fprintln(os.Stderr, "gpuhealthd: symbol lookup error: gpuhealthd: undefined symbol: nvmlDeviceGetGpuFabricInfo_v4, version X")
		os.Exit(127)
	case "killed":
		syscall.Kill(os.Getpid(), syscall.SIGKILL)
	case "fault":
		// As the kernel does for a fault inside a library, under cgo or not.
		syscall.Kill(os.Getpid(), syscall.SIGSEGV)
		select {}
	case "chatty":
		fmt.Println("not a report")
		fmt.Println("+" + strings.Repeat("x", 3*maxLine))
		fmt.Println("+good")
		fmt.Print("+cut")
		fmt.Fprint(os.Stderr, "the begin ", strings.Repeat("x", 3*tailSize), " the end\n")
		os.Exit(3)
	}
}

// parse takes lines that begin with a plus.
func parse(line []byte) (string, error) {
	text, ok := strings.CutPrefix(strings.TrimSpace(string(line)), "+")
	if !ok {
		return "", fmt.Errorf("no plus in %q", line)
	}
	return text, nil
}

func spec(behaviour string) Spec[string] {
	return Spec[string]{
		Command: []string{""}, MaxLine: maxLine, Parse: parse,
		Env: []string{asChild + "=" + behaviour, "GORACE=atexit_sleep_ms=0"},
	}
}

func begin(t *testing.T, s Spec[string]) *Child[string] {
	t.Helper()
	c, err := Start(s)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// hear receives a child's events to its end.
func hear(c *Child[string]) (said []Event[string], end Died) {
	for e := range c.Events {
		if e.Died != nil {
			return said, *e.Died
		}
		said = append(said, e)
	}
	return nil, Died{}
}

func TestDied(t *testing.T) {
	if _, d := hear(begin(t, spec("symbol"))); d.Exit != 127 || d.Symbol != "nvmlDeviceGetGpuFabricInfo_v4" || !strings.Contains(d.Stderr, "symbol lookup error") {
		t.Errorf("missing symbol: %+v", d)
	}
	if _, d := hear(begin(t, spec("killed"))); d.Exit != -1 || d.Signal != "SIGKILL" || d.Symbol != "" {
		t.Errorf("killed: %+v", d)
	}
	if _, d := hear(begin(t, spec("fault"))); d.Exit != 2 || d.Signal != "SIGSEGV" {
		t.Errorf("a fault: %+v", d)
	}
}

func TestGarbledLines(t *testing.T) {
	said, d := hear(begin(t, spec("chatty")))
	want := []string{"no plus", "longer than", "", "cut short"}
	if len(said) != len(want) {
		t.Fatalf("%d lines, want %d: %+v", len(said), len(want), said)
	}
	for i, e := range said {
		if want[i] == "" {
			if e.Garbled != nil || e.Report != "good" {
				t.Errorf("line %d: %+v, want the report behind the garbled ones", i, e)
			}
		} else if e.Garbled == nil || !strings.Contains(e.Garbled.Error(), want[i]) {
			t.Errorf("line %d: error %v, want %q", i, e.Garbled, want[i])
		}
	}
	if d.Exit != 3 || len(d.Stderr) > headSize+tailSize+5 || !strings.HasPrefix(d.Stderr, "the begin ") || !strings.HasSuffix(d.Stderr, " the end") {
		t.Errorf("died %d with %d bytes of stderr", d.Exit, len(d.Stderr))
	}
}

func TestRequestAndEnd(t *testing.T) {
	c := begin(t, spec("echo"))
	fmt.Fprintln(c.Stdin, "hello")
	<-c.Events
	if e := <-c.Events; e.Report != "hello" {
		t.Errorf("%+v, want the request back", e)
	}
	c.Stdin.Close()
	if said, d := hear(c); len(said) > 0 || d.Exit != 0 || d.Signal != "" {
		t.Errorf("%v, %+v, want an end in order", said, d)
	}
}

func TestStartFails(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "missing")
	if _, err := Start(Spec[string]{Command: []string{missing}}); err == nil || !strings.Contains(err.Error(), missing) {
		t.Errorf("error %v does not name %s", err, missing)
	}
}

// The lock is the child's: that the parent lets go of it frees nothing.
func TestLock(t *testing.T) {
	s := spec("echo")
	s.Lock = t.TempDir()
	if err := os.Chmod(s.Lock, 0o500); err != nil {
		t.Fatal(err)
	}
	c := begin(t, s)
	<-c.Events
	if _, err := Start(s); !errors.Is(err, ErrEarlier) || !strings.Contains(err.Error(), fmt.Sprintf("process %d;", c.PID)) {
		t.Errorf("a second child beside the first, process %d: error %v", c.PID, err)
	}
	c.Stdin.Close()
	hear(c)
	c = begin(t, s)
	c.Stdin.Close()
	hear(c)
}

// A child that was left and is stopped is told apart from one that is stuck.
func TestLeftStopped(t *testing.T) {
	s := spec("echo")
	s.Lock = t.TempDir()
	c := begin(t, s)
	<-c.Events
	if err := c.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	for !Stopped(c.PID) { // the kernel stops its threads one by one
		runtime.Gosched()
	}
	if _, err := Start(s); !errors.Is(err, ErrStopped) || errors.Is(err, ErrEarlier) || !strings.Contains(err.Error(), fmt.Sprintf("process %d;", c.PID)) {
		t.Errorf("a second child beside one that is stopped, process %d: error %v", c.PID, err)
	}
	if err := c.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	c.Stdin.Close()
	hear(c)
	if Stopped(c.PID) {
		t.Error("stopped, and it has ended")
	}
}

func TestState(t *testing.T) {
	for text, want := range map[string]byte{
		"7 (nvml) T 1 7":         'T',
		"7 (a) R (b\n) c) D 1 7": 'D',
		"7 (nvml)":               0,
		"7 (nvml) ":              0,
		"":                       0,
	} {
		path := filepath.Join(t.TempDir(), "stat")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := state(path); got != want {
			t.Errorf("%q: state %q, want %q", text, got, want)
		}
	}
}

func TestKeepPausesLonger(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		var lives []time.Duration
		last := errors.New("the last")
		err := Keep(t.Context(), new(Gate), func(context.Context) error {
			lives = append(lives, time.Since(began))
			switch len(lives) {
			case 4:
				time.Sleep(MaxBackoff)
			case 6:
				return last
			}
			return nil
		})
		var want []time.Duration
		for _, s := range []int{0, 1, 3, 7, 68, 70} {
			want = append(want, time.Duration(s)*time.Second)
		}
		if !errors.Is(err, last) || !slices.Equal(lives, want) {
			t.Errorf("lives at %v, error %v, want %v", lives, err, want)
		}
	})
}

func TestKeepEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		if err := Keep(ctx, new(Gate), func(context.Context) error { stop(); return nil }); err != nil {
			t.Error(err)
		}
	})
}
