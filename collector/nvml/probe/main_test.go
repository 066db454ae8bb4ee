package probe

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/gpuhealthd/gpuhealthd/collector/nvml"
	"github.com/gpuhealthd/gpuhealthd/sim/node"
)

// asProbe, set to the period, makes the test binary the child process that Run
// is meant for.
const asProbe = "GPUHEALTHD_TEST_PROBE"

// Short, so that the tests are; nothing below depends on how long things take.
const (
	quick    = 20 * time.Millisecond
	deadline = 150 * time.Millisecond
)

func TestMain(m *testing.M) {
	if os.Getenv(asProbe) == "" {
		os.Exit(m.Run())
	}
	period, err := time.ParseDuration(os.Getenv(asProbe))
	if err != nil {
		panic(err)
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	if err := Run(ctx, os.Stdin, os.Stdout, Config{Period: period, SlowPeriod: 5 * period, Deadline: deadline}); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// simulated builds the simulated driver and gives its folder.
func simulated(t testing.TB) string {
	t.Helper()
	out, err := exec.Command("make", "-C", "../../../sim", "OUT=../build/sim").CombinedOutput()
	if err != nil {
		t.Fatalf("make -C sim: %v\n%s", err, out)
	}
	dir, err := filepath.Abs("../../../build/sim")
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func newNode(t *testing.T) *node.Node {
	t.Helper()
	n, err := node.New(t.TempDir(), "hgx-h100")
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// child is a running probe.
type child struct {
	t      *testing.T
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	stdout *bufio.Reader
}

func start(t *testing.T, n *node.Node, lib string) *child {
	t.Helper()
	return startEvery(t, quick, n, lib)
}

func startEvery(t *testing.T, period time.Duration, n *node.Node, lib string) *child {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), append(n.Env(lib), asProbe+"="+period.String(), "GORACE=atexit_sleep_ms=0")...)
	cmd.Stderr = t.Output()
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	return &child{t: t, cmd: cmd, stdin: stdin, stdout: bufio.NewReader(stdout)}
}

// next reads one report; false at the end of the child's output.
func (c *child) next() (nvml.Report, bool) {
	c.t.Helper()
	line, err := c.stdout.ReadBytes('\n')
	if errors.Is(err, io.EOF) {
		return nvml.Report{}, false
	}
	var r nvml.Report
	if err := errors.Join(err, json.Unmarshal(line, &r)); err != nil {
		c.t.Fatalf("report %q: %v", line, err)
	}
	return r, true
}

// until reads reports to the first that is wanted.
func (c *child) until(want func(nvml.Report) bool) nvml.Report {
	c.t.Helper()
	for {
		r, ok := c.next()
		if !ok {
			c.t.Fatal("the child ended before it said what was waited for")
		}
		if want(r) {
			return r
		}
	}
}

// inventory reads to the first inventory that is wanted.
func (c *child) inventory(want func(nvml.Inventory) bool) nvml.Inventory {
	c.t.Helper()
	return *c.until(func(r nvml.Report) bool { return r.Inventory != nil && want(*r.Inventory) }).Inventory
}

// ended reads to the end of the output and gives the exit status.
func (c *child) ended() int {
	c.t.Helper()
	for ok := true; ok; _, ok = c.next() {
	}
	c.cmd.Wait()
	return c.cmd.ProcessState.ExitCode()
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
