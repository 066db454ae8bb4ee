package nvml

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// asChild makes the test binary a child that behaves as its value says.
const asChild = "GPUHEALTHD_TEST_CHILD"

func TestMain(m *testing.M) {
	switch os.Getenv(asChild) {
	case "":
		os.Exit(m.Run())
	case "good":
		healthy.Write(os.Stdout)
		for in := bufio.NewScanner(os.Stdin); in.Scan(); {
			stuck.Write(os.Stdout)
		}
	case "symbol":
		fmt.Fprintln(os.Stderr, "gpuhealthd: symbol lookup error: gpuhealthd: undefined symbol: nvmlDeviceGetGpuFabricInfo_v4, version X")
		os.Exit(127)
	case "segv":
		syscall.Kill(os.Getpid(), syscall.SIGKILL)
	case "chatty":
		fmt.Println("not json")
		fmt.Println(`{"v":2,"kind":"hung","hung":{"call":"x"}}`)
		fmt.Println(`{"v":1,"kind":"inventory"}`)
		fmt.Println(`{"v":1,"kind":"hung","hung":{"call":"` + strings.Repeat("x", 3*maxLine) + `"}}`)
		failed.Write(os.Stdout)
		fmt.Print(`{"v":1,`)
		fmt.Fprint(os.Stderr, strings.Repeat("x", 3*tailSize), " the end\n")
		os.Exit(3)
	}
}

func config(behaviour string) Config {
	return Config{
		Command: []string{os.Args[0]},
		Env:     []string{asChild + "=" + behaviour, "GORACE=atexit_sleep_ms=0"},
	}
}

// hear runs a child to its end and gives what it said, or how that was garbled.
func hear(t *testing.T, cfg Config) (said []event, end Died) {
	t.Helper()
	c, err := startProcess(cfg)
	if err != nil {
		t.Fatal(err)
	}
	for e := range c.events {
		if e.died != nil {
			return said, *e.died
		}
		said = append(said, e)
	}
	return nil, Died{}
}

func TestDied(t *testing.T) {
	if _, d := hear(t, config("symbol")); d.Exit != 127 || d.Symbol != "nvmlDeviceGetGpuFabricInfo_v4" || !strings.Contains(d.Stderr, "symbol lookup error") {
		t.Errorf("missing symbol: %+v", d)
	}
	if _, d := hear(t, config("segv")); d.Exit != -1 || d.Signal != "SIGKILL" || d.Symbol != "" {
		t.Errorf("killed: %+v", d)
	}
}

func TestGarbledLines(t *testing.T) {
	said, d := hear(t, config("chatty"))
	want := []string{"not json", "field v: 2", "part is missing", "longer than", "", "cut short"}
	if len(said) != len(want) {
		t.Fatalf("%d lines, want %d: %+v", len(said), len(want), said)
	}
	for i, e := range said {
		if want[i] == "" {
			if e.garbled != nil || e.report.Kind != KindFailed {
				t.Errorf("line %d: %+v, want the report behind the garbled ones", i, e)
			}
		} else if e.garbled == nil || !strings.Contains(e.garbled.Error(), want[i]) {
			t.Errorf("line %d: error %v, want %q", i, e.garbled, want[i])
		}
	}
	if d.Exit != 3 || len(d.Stderr) > tailSize || !strings.HasSuffix(d.Stderr, " the end") {
		t.Errorf("died %d with %d bytes of stderr", d.Exit, len(d.Stderr))
	}
}

func TestProcessLife(t *testing.T) {
	before := openFiles(t)
	ctx, stop := context.WithCancel(t.Context())
	reports := make(chan Report)
	ended := make(chan error, 1)
	p := New(config("good"))
	go func() { ended <- p.Run(ctx, func(r Report) { reports <- r }) }()
	if r := <-reports; r.inCall() || r.Kind != KindInventory {
		t.Errorf("first report %+v", r)
	}
	p.Poll()
	if r := <-reports; !r.inCall() {
		t.Errorf("report after a poll: %+v", r)
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if after := openFiles(t); after != before {
		t.Errorf("%d files open, %d before", after, before)
	}
}

func openFiles(t *testing.T) int {
	t.Helper()
	list, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(list)
}

func TestStartFails(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "missing")
	if _, err := startProcess(Config{Command: []string{missing}}); err == nil || !strings.Contains(err.Error(), missing) {
		t.Errorf("error %v does not name %s", err, missing)
	}
}

// The lock is the child's: that the parent lets go of it frees nothing.
func TestLock(t *testing.T) {
	cfg := config("good")
	cfg.Lock = t.TempDir()
	if err := os.Chmod(cfg.Lock, 0o500); err != nil {
		t.Fatal(err)
	}
	c, err := startProcess(cfg)
	if err != nil {
		t.Fatal(err)
	}
	<-c.events
	if _, err := startProcess(cfg); !errors.Is(err, errEarlierChild) {
		t.Errorf("a second child beside the first: error %v", err)
	}
	c.stop()
	for e := range c.events {
		if e.died != nil {
			break
		}
	}
	c, err = startProcess(cfg)
	if err != nil {
		t.Fatalf("after the child's end: %v", err)
	}
	c.stop()
	for e := range c.events {
		if e.died != nil {
			break
		}
	}
}
