package dcgmi

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gpuhealthd/gpuhealthd/diag"
	"github.com/gpuhealthd/gpuhealthd/sim/node"
)

// asAgent makes the test binary an agent with a diagnosis under way.
const asAgent = "DCGMI_TEST_AS_AGENT"

var program string // the simulated dcgmi

func TestMain(m *testing.M) {
	if program = os.Getenv(asAgent); program != "" {
		New(config()).Run(context.Background(), Task{Level: 2, GPUs: strings.Fields(os.Getenv("UUIDS"))}, func(Progress) {})
		os.Exit(0)
	}
	os.Exit(withProgram(m.Run))
}

func withProgram(do func() int) int {
	dir, err := os.MkdirTemp("", "dcgmi-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	program = filepath.Join(dir, "dcgmi")
	build := exec.Command("go", "build", "-o", program, "github.com/gpuhealthd/gpuhealthd/sim/dcgmi")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "%v\n%s", err, out)
		return 1
	}
	return do()
}

// config is one of a patient caller: nothing ends but by the test's hand.
func config() Config {
	c := Default()
	c.Command = []string{program}
	c.Host = engine
	c.Retry = 10 * time.Millisecond
	return c
}

const engine = "localhost:5555"

// bench is a node with an engine, and the UUIDs of its GPUs.
type bench struct {
	*testing.T
	node  *node.Node
	uuids []string
}

func setUp(t *testing.T) bench {
	t.Helper()
	n, uuids, err := simulate(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("GPUHEALTHD_SIM", filepath.Dir(n.KmsgPath()))
	return bench{t, n, uuids}
}

func simulate(dir string) (*node.Node, []string, error) {
	n, err := node.New(dir, "hgx-h100")
	if err != nil {
		return nil, nil, err
	}
	gpus, err := n.GPUs()
	var uuids []string
	for _, g := range gpus {
		uuids = append(uuids, g.UUID)
	}
	return n, uuids, errors.Join(err, n.DCGM().Start(engine))
}

func (b bench) must(err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

func (b bench) set(key, value string) {
	b.Helper()
	b.must(b.node.Diag().Set(key, value))
}

// verdicts fails unless the findings are these, in the order of the task.
func (b bench) verdicts(o diag.Outcome, want ...diag.Verdict) {
	b.Helper()
	for i, f := range o.Findings {
		if i >= len(want) || f.Verdict != want[i] || f.GPU != o.GPUs[i].UUID {
			b.Errorf("findings are not %v:\n%s", want, o.Table())
			return
		}
	}
	if len(o.Findings) != len(want) {
		b.Errorf("%d findings, want %d", len(o.Findings), len(want))
	}
}

// nothingLeft fails if the engine is busy or a process of dcgmi's is there.
func (b bench) nothingLeft() {
	b.Helper()
	if busy, err := b.node.Diag().Running(); err != nil || busy {
		b.Errorf("the engine is busy: %v, %v", busy, err)
	}
	b.noProcess()
}

func (b bench) noProcess() {
	b.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil || len(files) == 0 {
		b.Fatalf("no processes: %v", err)
	}
	for _, file := range files {
		command, err := os.ReadFile(file)
		if err == nil && strings.HasPrefix(string(command), program) {
			b.Errorf("%s is left: %q", file, command)
		}
	}
}

func quiet(Progress) {}

func TestVerdictsAreByUUID(t *testing.T) {
	b := setUp(t)
	b.must(b.node.Diag().Result("5", "memory", node.Finding{Status: "Fail", Code: 52, Severity: 2, Text: "a bad cell"}))
	o := New(config()).Run(t.Context(), Task{Level: 2, GPUs: []string{b.uuids[5], b.uuids[2]}}, quiet)
	b.verdicts(o, diag.Failed, diag.Passed)
	if o.Report.Version != "4.6.0" || o.Report.Exit != 205 || o.Report.Said != "" {
		t.Errorf("report %+v", o.Report)
	}
	b.nothingLeft()
}

func TestBothGenerations(t *testing.T) {
	for _, version := range []string{"3.3.9", "4.6.0"} {
		for level := 1; level <= 4; level++ {
			b := setUp(t)
			b.set("version", version)
			o := New(config()).Run(t.Context(), Task{Level: level, GPUs: b.uuids[:2]}, quiet)
			b.verdicts(o, diag.Passed, diag.Passed)
			if o.Report.Version != version {
				t.Errorf("version %q, want %q", o.Report.Version, version)
			}
		}
	}
}

func TestWhatTheNodeDoes(t *testing.T) {
	for _, c := range []struct {
		key, value string
		want       diag.Verdict
	}{
		{"text", "a word before {", diag.Passed},
		{"missing", "pcie", diag.Doubtful},
		{"missing", "memory,pcie", diag.NotRun},
		{"missing", "software,memory,pcie", diag.NotRun},
		{"cut", "300", diag.NotRun},
		{"exit", "226", diag.Doubtful},
		{"exit", "204", diag.Doubtful},
	} {
		t.Run(c.key+" "+c.value, func(t *testing.T) {
			b := setUp(t)
			b.set(c.key, c.value)
			b.verdicts(New(config()).Run(t.Context(), Task{Level: 2, GPUs: b.uuids[:1]}, quiet), c.want)
			b.nothingLeft()
		})
	}
}

func TestGPUsThatTheEngineDoesNotKnow(t *testing.T) {
	b := setUp(t)
	b.must(b.node.Lose("1"))
	o := New(config()).Run(t.Context(), Task{Level: 2, GPUs: []string{b.uuids[0], b.uuids[1], "GPU-none"}}, quiet)
	b.verdicts(o, diag.Passed, diag.NotRun, diag.NotRun)
	o = New(config()).Run(t.Context(), Task{Level: 2, GPUs: b.uuids[1:2]}, quiet)
	b.verdicts(o, diag.NotRun)
}

func TestNoDcgmi(t *testing.T) {
	b := setUp(t)
	for _, command := range []string{"dcgmi-that-is-not-there", filepath.Join(t.TempDir(), "dcgmi")} {
		cfg := config()
		cfg.Command = []string{command}
		o := New(cfg).Run(t.Context(), Task{Level: 2, GPUs: b.uuids[:1]}, quiet)
		b.verdicts(o, diag.NotRun)
		if o.Unavailable == "" {
			t.Errorf("%s is available", command)
		}
	}
}

func TestMIGElsewhere(t *testing.T) {
	b := setUp(t)
	conf := filepath.Join(os.Getenv("GPUHEALTHD_SIM"), "node.conf")
	text, err := os.ReadFile(conf)
	b.must(err)
	b.must(os.WriteFile(conf, []byte(strings.Replace(string(text), "minor = 2\n", "minor = 2\nmig = on\n", 1)), 0o644))
	o := New(config()).Run(t.Context(), Task{Level: 2, GPUs: b.uuids[:1]}, quiet)
	b.verdicts(o, diag.NotRun)
	if !strings.Contains(o.Table(), "DCGM#70") {
		t.Error(o.Table())
	}
}
