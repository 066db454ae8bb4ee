package host

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gpuhealthd/gpuhealthd/fault"
	"github.com/gpuhealthd/gpuhealthd/remediate"
	"github.com/gpuhealthd/gpuhealthd/sim/node"
	"github.com/gpuhealthd/gpuhealthd/xidparse"
)

// tool is the simulated nvidia-smi, built once.
var tool = sync.OnceValues(func() (string, error) {
	if out, err := exec.Command("make", "-C", "../../sim", "OUT=../build/sim", "../build/sim/nvidia-smi").CombinedOutput(); err != nil {
		return "", errors.New(string(out))
	}
	return filepath.Abs("../../build/sim/nvidia-smi")
})

// bench is a reset on a simulated node, with all that is around it.
type bench struct {
	*Reset
	*node.Node
	children fakeChildren
	operands fakeOperands
	// recorded are the words that are on disk; crash is the one after which the
	// agent dies, before the change.
	recorded []string
	crash    string
	holders  []remediate.Holder
	unknown  error
}

var errCrash = errors.New("the agent is dead")

func newBench(t *testing.T) *bench {
	t.Helper()
	smi, err := tool()
	must(t, err)
	n, err := node.New(t.TempDir(), "hgx-h100")
	must(t, err)
	for _, e := range n.Env("") {
		name, value, _ := strings.Cut(e, "=")
		t.Setenv(name, value)
	}
	config := Default()
	config.SMI, config.Devices = smi, n.Device("")
	config.Patience = 10 * time.Millisecond
	b := &bench{Node: n}
	b.Reset = &Reset{Config: config, Children: &b.children, Operands: &b.operands, Holders: b.who}
	return b
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (b *bench) who(context.Context, []fault.Device) ([]remediate.Holder, error) {
	return b.holders, b.unknown
}

func (b *bench) record(_ context.Context, undo string) error {
	b.recorded = append(b.recorded, undo)
	if b.crash != "" && strings.HasPrefix(undo, b.crash) {
		return errCrash
	}
	return nil
}

// deed is a reset of GPUs by index.
func (b *bench) deed(t *testing.T, gpus ...int) remediate.Deed {
	t.Helper()
	d := remediate.Deed{ID: "reset-1", Kind: remediate.StepReset, Deadline: time.Now().Add(time.Minute)}
	for _, i := range gpus {
		g, err := b.GPU(strconv.Itoa(i))
		must(t, err)
		pci, ok := xidparse.ParsePCI(g.PCI)
		if !ok {
			t.Fatalf("address %q", g.PCI)
		}
		d.GPUs = append(d.GPUs, fault.Device{PCI: pci, UUID: g.UUID})
	}
	return d
}

// sick gives a GPU what a reset cures.
func (b *bench) sick(t *testing.T, gpu string) {
	t.Helper()
	must(t, b.Recovery(gpu, 1))
	must(t, b.Remap(gpu, "pending"))
}

// cured says whether the GPU was reset.
func (b *bench) cured(t *testing.T, gpu string) bool {
	t.Helper()
	action, err := b.RecoveryAction(gpu)
	must(t, err)
	return action == 0
}

// restored fails the test unless all is again as before.
func (b *bench) restored(t *testing.T) {
	t.Helper()
	gpus, err := b.GPUs()
	must(t, err)
	for _, g := range gpus {
		on, err := b.Persistence(g.UUID)
		must(t, err)
		if !on {
			t.Errorf("persistence mode of GPU %d is off", g.Index)
		}
	}
	if b.operands.paused {
		t.Error("the operator's services are paused")
	}
	if b.children.quiet {
		t.Error("our children are not resumed")
	}
}

// is fails the test unless the outcome has this result and all the words.
func is(t *testing.T, o remediate.Outcome, result remediate.Result, words ...string) {
	t.Helper()
	if o.Deed != "reset-1" || o.Result != result {
		t.Errorf("got %+v, want %s", o, result)
	}
	if i := slices.IndexFunc(words, func(w string) bool { return !strings.Contains(o.Text, w) }); i >= 0 {
		t.Errorf("the outcome says %q, and not %q", o.Text, words[i])
	}
}

type fakeChildren struct {
	quiet bool
	stuck error
}

func (c *fakeChildren) Quiet(context.Context) error { c.quiet = true; return c.stuck }
func (c *fakeChildren) Resume()                     { c.quiet = false }

type fakeOperands struct {
	paused       bool
	fail, broken error // of Pause and of Restore
	pauses       int
}

func (o *fakeOperands) Pause(context.Context) error {
	o.pauses++
	o.paused = o.fail == nil
	return o.fail
}

func (o *fakeOperands) Restore(context.Context) error {
	if o.broken == nil {
		o.paused = false
	}
	return o.broken
}

// hold has another process open a GPU, and gives its number.
func (b *bench) hold(t *testing.T, minor string) int {
	t.Helper()
	cmd := exec.Command("sh", "-c", "exec sleep 1000 <"+b.Device(minor))
	must(t, cmd.Start())
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	for {
		if pids, err := b.Node.Holders(minor); err != nil || len(pids) > 0 {
			must(t, err)
			return cmd.Process.Pid
		}
		time.Sleep(time.Millisecond)
	}
}

// Our own descendants stand in for strangers here.
func (b *bench) apart(t *testing.T) { b.Config.Devices = filepath.Join(t.TempDir(), "nvidia") }

func leftRunning(t *testing.T) (commands []string) {
	t.Helper()
	parents, err := parents()
	must(t, err)
	for pid := range parents {
		if pid != os.Getpid() && descends(pid, os.Getpid(), parents) {
			commands = append(commands, processName(pid))
		}
	}
	return commands
}
