package repair

import (
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gpuhealthd/gpuhealthd/diag"
	"github.com/gpuhealthd/gpuhealthd/diag/dcgmi"
	"github.com/gpuhealthd/gpuhealthd/fault"
	"github.com/gpuhealthd/gpuhealthd/internal/agent"
	"github.com/gpuhealthd/gpuhealthd/internal/config"
	"github.com/gpuhealthd/gpuhealthd/remediate"
	"github.com/gpuhealthd/gpuhealthd/sim/node"
	"github.com/gpuhealthd/gpuhealthd/test/daemontest"
)

var programs daemontest.Programs

func TestMain(m *testing.M) {
	defer programs.Remove()
	m.Run()
}

const engine = "localhost:5555"

// clinic is a simulated node with an engine, and who diagnoses on it.
type clinic struct {
	*node.Node

	doer agent.Doer
	gpus []fault.Device
	// told are the deeds of which progress was told.
	told chan string
}

func newClinic(t *testing.T, change func(*config.Diag)) *clinic {
	t.Helper()
	dir := t.TempDir()
	sim, err := node.New(dir, "hgx-h100")
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("GPUHEALTHD_SIM", dir)
	c := &clinic{Node: sim, told: make(chan string, 64)}
	all, err := sim.GPUs()
	if err := errors.Join(err, sim.DCGM().Start(engine)); err != nil {
		t.Fatal(err)
	}
	for _, g := range all[:2] {
		c.gpus = append(c.gpus, fault.Device{UUID: g.UUID})
	}
	cfg := config.Default().Repair
	cfg.Diag.Mode, cfg.Diag.HostEngine = remediate.MeansCommand, engine
	cfg.Diag.Command = []string{filepath.Join(programs.Library(t), "dcgmi")}
	if change != nil {
		change(&cfg.Diag)
	}
	tools, err := New(Options{Config: cfg, Told: func(deed string, _ dcgmi.Progress) { c.told <- deed }})
	if err != nil {
		t.Fatal(err)
	}
	c.doer = tools.Doers[remediate.StepDiag]
	return c
}

func (c *clinic) deed() remediate.Deed {
	return remediate.Deed{ID: "b-1-diag-1", Kind: remediate.StepDiag, Level: 2, GPUs: c.gpus}
}

// checks fails unless the outcome says this of the GPUs, and its report the same.
func (c *clinic) checks(t *testing.T, o remediate.Outcome, want ...remediate.Check) {
	t.Helper()
	var report diag.Outcome
	if err := json.Unmarshal(o.Report, &report); err != nil || len(report.Findings) != len(want) || len(o.Checked) != len(want) {
		t.Fatalf("%v, checked %+v, want %v; report %s", err, o.Checked, want, o.Report)
	}
	for n, checked := range o.Checked {
		if checked.GPU != c.gpus[n].UUID || checked.Check != want[n] || string(report.Findings[n].Verdict) != string(want[n]) {
			t.Errorf("checked %+v, want %s of %s", checked, want[n], c.gpus[n])
		}
	}
}

func TestADiagnosisThatPasses(t *testing.T) {
	c := newClinic(t, nil)
	o := c.doer.Do(t.Context(), c.deed(), nil)
	c.checks(t, o, remediate.CheckPassed, remediate.CheckPassed)
	if o.Result != remediate.Succeeded || o.Text != "" {
		t.Errorf("%s %q", o.Result, o.Text)
	}
	if deed := <-c.told; deed != "b-1-diag-1" {
		t.Errorf("progress is told of %q", deed)
	}
}

// One GPU's failure is its own, with what its errors ask for; what an event says of it
// is bounded, and printable.
func TestADiagnosisThatFails(t *testing.T) {
	c := newClinic(t, nil)
	long := "a bad cell " + strings.Repeat("ü", maxWhy)
	if err := c.Diag().Result(c.gpus[1].UUID, "memory", node.Finding{Status: "Fail", Code: 52, Severity: 2, Text: long}); err != nil {
		t.Fatal(err)
	}
	o := c.doer.Do(t.Context(), c.deed(), nil)
	c.checks(t, o, remediate.CheckPassed, remediate.CheckFailed)
	failed := o.Checked[1]
	if failed.Hint != fault.Replace || !strings.Contains(failed.Why, "a bad cell") || !strings.HasSuffix(failed.Why, " …") || len(failed.Why) > maxWhy+len(" …") {
		t.Errorf("%+v", failed)
	}
	if o.Result != remediate.Succeeded {
		t.Errorf("it ran, and the result is %s", o.Result)
	}
	var report diag.Outcome
	if err := json.Unmarshal(o.Report, &report); err != nil {
		t.Fatal(err)
	}
	if check, why := Worst(report); check != remediate.CheckFailed || why != failed.Why {
		t.Errorf("the worst is %s: %s", check, why)
	}
}

func TestADiagnosisThatIsCalledOff(t *testing.T) {
	c := newClinic(t, nil)
	if err := c.Diag().Set("hang", "memory"); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	done := make(chan remediate.Outcome, 1)
	go func() { done <- c.doer.Do(ctx, c.deed(), nil) }()
	daemontest.Await(t, "the engine is busy", func() bool {
		busy, err := c.Diag().Running()
		return err == nil && busy
	})
	cancel(errors.New("held by pod default/train"))
	o := <-done
	c.checks(t, o, remediate.CheckAborted, remediate.CheckAborted)
	if !strings.Contains(o.Checked[0].Why, "held by pod default/train") {
		t.Errorf("%+v", o.Checked[0])
	}
	if busy, err := c.Diag().Running(); err != nil || busy {
		t.Errorf("the engine is left busy: %t, %v", busy, err)
	}
}

func TestADiagnosisThatThereIsNobodyFor(t *testing.T) {
	c := newClinic(t, func(d *config.Diag) { d.Command = []string{"/nonexistent/dcgmi"} })
	o := c.doer.Do(t.Context(), c.deed(), nil)
	c.checks(t, o, remediate.CheckNotRun, remediate.CheckNotRun)
	if o.Result != remediate.Unavailable || !strings.Contains(o.Text, "/nonexistent/dcgmi") {
		t.Errorf("%s %q", o.Result, o.Text)
	}
	c.gpus = []fault.Device{{}}
	if o := c.doer.Do(t.Context(), c.deed(), nil); o.Result != remediate.Unavailable || !strings.Contains(o.Text, "no GPU's UUID is known") {
		t.Errorf("GPUs without a name: %+v", o)
	}
	if c := newClinic(t, func(d *config.Diag) { d.Mode = remediate.MeansOff }); c.doer != nil {
		t.Error("with repair.diag.mode off there is somebody who diagnoses")
	}
}
