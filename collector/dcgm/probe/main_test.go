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
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gpuhealthd/gpuhealthd/collector/dcgm"
	"github.com/gpuhealthd/gpuhealthd/sim/node"
)

// asProbe, set to a Config in JSON, makes the test binary the child process
// that Run is meant for.
const asProbe = "GPUHEALTHD_TEST_PROBE"

// address is where the simulated engine listens: nothing is opened there.
const address = "localhost:5555"

// Short, so that the tests are; nothing below depends on how long things take.
const (
	quick    = 20 * time.Millisecond
	deadline = 100 * time.Millisecond
)

func TestMain(m *testing.M) {
	text := os.Getenv(asProbe)
	if text == "" {
		os.Exit(m.Run())
	}
	var cfg Config
	if err := json.Unmarshal([]byte(text), &cfg); err != nil {
		panic(err)
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	if err := Run(ctx, os.Stdin, os.Stdout, cfg); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// library builds the simulated engine and gives its folder.
func library(t testing.TB) string {
	t.Helper()
	out, err := exec.Command("make", "-C", "../../../sim", "OUT=../build/sim").CombinedOutput()
	if err != nil {
		t.Fatalf("make -C sim: %v\n%s", err, out)
	}
	dir, err := filepath.Abs("../../../build/sim")
	must(t, err)
	return dir
}

// newNode is a node with an engine.
func newNode(t testing.TB) *node.Node {
	t.Helper()
	n, err := node.New(t.TempDir(), "hgx-h100")
	must(t, err)
	must(t, n.DCGM().Start(address))
	return n
}

func config() Config { return Config{Address: address, Period: quick, Deadline: deadline} }

// environment makes a process of the test binary a child on a node.
func environment(n *node.Node, lib string, cfg Config) []string {
	text, err := json.Marshal(cfg)
	if err != nil {
		panic(err)
	}
	return append(n.Env(lib), asProbe+"="+string(text), "GORACE=atexit_sleep_ms=0")
}

// child is a running probe.
type child struct {
	t      testing.TB
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	stdout *bufio.Reader
	stderr *strings.Builder
}

func start(t testing.TB, n *node.Node) *child {
	t.Helper()
	return startWith(t, n, library(t), config())
}

func startWith(t testing.TB, n *node.Node, lib string, cfg Config) *child {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), environment(n, lib, cfg)...)
	stderr := &strings.Builder{}
	cmd.Stderr = stderr
	stdin, err := cmd.StdinPipe()
	must(t, err)
	stdout, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	t.Cleanup(func() {
		stdin.Close()
		cmd.Wait()
		if t.Failed() {
			t.Logf("the child's stderr: %s", stderr)
		}
	})
	return &child{t: t, cmd: cmd, stdin: stdin, stdout: bufio.NewReader(stdout), stderr: stderr}
}

// next reads one report; false at the end of the child's output.
func (c *child) next() (dcgm.Report, bool) {
	c.t.Helper()
	line, err := c.stdout.ReadBytes('\n')
	if errors.Is(err, io.EOF) {
		return dcgm.Report{}, false
	}
	var r dcgm.Report
	if err := errors.Join(err, json.Unmarshal(line, &r)); err != nil {
		c.t.Fatalf("report %q: %v", line, err)
	}
	return r, true
}

// until reads reports to the first that is wanted.
func (c *child) until(want func(dcgm.Report) bool) dcgm.Report {
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

func (c *child) kind(kind dcgm.Kind) dcgm.Report {
	c.t.Helper()
	return c.until(func(r dcgm.Report) bool { return r.Kind == kind })
}

// values reads to the first values that are wanted.
func (c *child) values(want func(dcgm.Values) bool) dcgm.Values {
	c.t.Helper()
	return *c.until(func(r dcgm.Report) bool { return r.Values != nil && want(*r.Values) }).Values
}

// health reads to the first health check that is wanted.
func (c *child) health(want func(dcgm.Health) bool) dcgm.Health {
	c.t.Helper()
	return *c.until(func(r dcgm.Report) bool { return r.Health != nil && want(*r.Health) }).Health
}

// ended reads to the end of the output and gives the exit status.
func (c *child) ended() int {
	c.t.Helper()
	for ok := true; ok; _, ok = c.next() {
	}
	c.cmd.Wait()
	return c.cmd.ProcessState.ExitCode()
}

// uuid names GPU i of a node.
func uuid(t testing.TB, n *node.Node, i int) string {
	t.Helper()
	gpus, err := n.GPUs()
	must(t, err)
	return gpus[i].UUID
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
