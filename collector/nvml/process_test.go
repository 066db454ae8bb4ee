package nvml

import (
	"bufio"
	"context"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gpuhealthd/gpuhealthd/collector/child"
)

// asChild makes the test binary a child.
const asChild = "GPUHEALTHD_TEST_CHILD"

func TestMain(m *testing.M) {
	if os.Getenv(asChild) == "" {
		os.Exit(m.Run())
	}
	healthy.Write(os.Stdout)
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		stuck.Write(os.Stdout)
	}
}

func TestGarbledReports(t *testing.T) {
	for line, want := range map[string]string{
		`not json`: "not json",
		`{"v":2,"kind":"hung","hung":{"call":"x"}}`: "field v: 2",
		`{"v":1,"kind":"inventory"}`:                "part is missing",
		`{"v":1,"kind":"died","died":{"exit":1}}`:   "unknown",
	} {
		if _, err := parseReport([]byte(line)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", line, err, want)
		}
	}
}

func TestProcessLife(t *testing.T) {
	before := openFiles(t)
	ctx, stop := context.WithCancel(t.Context())
	reports := make(chan Report)
	ended := make(chan error, 1)
	p := New(Config{
		Command: []string{os.Args[0]},
		Env:     []string{asChild + "=1", "GORACE=atexit_sleep_ms=0"},
	})
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

// A real child, stopped as by a person, and sent on.
func TestStoppedProcess(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	reports := make(chan Report)
	ended := make(chan error, 1)
	p := New(Config{
		Command: []string{os.Args[0]}, Env: []string{asChild + "=1", "GORACE=atexit_sleep_ms=0"},
		Period: 10 * time.Millisecond, Deadline: 10 * time.Millisecond,
	})
	var c *process
	p.start = func() (_ *process, err error) { c, err = startProcess(p.cfg); return c, err }
	go func() { ended <- p.Run(ctx, func(r Report) { reports <- r }) }()
	<-reports
	if err := c.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	for r := range reports { // it may have been silent before it was stopped
		if r.Kind == KindFailed && strings.Contains(r.Failed.Text, "is stopped") {
			break
		}
	}
	if !child.Stopped(c.PID) || child.Stopped(os.Getpid()) {
		t.Error("stopped is the child, and not its parent")
	}
	go func() {
		for range reports {
		}
	}()
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
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
