package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/gpuhealthd/gpuhealthd/diag"
	"github.com/gpuhealthd/gpuhealthd/fault"
	"github.com/gpuhealthd/gpuhealthd/remediate"
	"github.com/gpuhealthd/gpuhealthd/sim/node"
	"github.com/gpuhealthd/gpuhealthd/test/daemontest"
)

const dcgmEngine = "localhost:5555"

// clinic is a bare-metal host in mode repair on which GPUs are diagnosed.
type clinic struct {
	*workshop
	*daemontest.Daemon
	t testing.TB
}

// diagnosing prepares one: the work is drained by nobody, the engine runs.
func diagnosing(t testing.TB) *clinic {
	t.Helper()
	d := programs.New(t)
	c := &clinic{workshop: equip(t, d), Daemon: d, t: t}
	d.Config.Repair.Drain.Mode = remediate.MeansOff
	c.diagnoses()
	must(t, d.Sim.DCGM().Start(dcgmEngine))
	return c
}

// diagnoses has the agent run the simulated dcgmi.
func (w *workshop) diagnoses() {
	r := &w.d.Config.Repair.Diag
	r.Mode, r.Command, r.HostEngine = remediate.MeansCommand, []string{filepath.Join(programs.Library(w.t), "dcgmi")}, dcgmEngine
}

// sicken gives a GPU a fault that a reset cures.
func (c *clinic) sicken(gpu int) {
	must(c.t, c.Sim.Recovery(c.GPU(gpu).UUID, 1))
	c.Say(daemontest.XID(c.GPU(gpu).PCI, daemontest.Uncontained))
}

// cured returns how the only incident ended.
func (c *clinic) cured() remediate.Incident {
	c.t.Helper()
	var over []remediate.Incident
	daemontest.Await(c.t, "the incident is over", func() bool {
		s := c.Status()
		over = s.History
		return len(s.Incidents) == 0 && len(over) == 1
	})
	return over[0]
}

// blocked returns once the diagnosis of the only incident waits for a person.
func (c *clinic) blocked() {
	c.t.Helper()
	daemontest.Await(c.t, "the diagnosis waits for a person", func() bool {
		is := c.Status().Incidents
		return len(is) == 1 && is[0].State == remediate.Quarantined && stepIs(is[0], remediate.StepDiag, remediate.Blocked)
	})
}

func stepIs(i remediate.Incident, k remediate.StepKind, s remediate.StepStatus) bool {
	for _, step := range i.Steps {
		if step.Kind == k {
			return step.Status == s
		}
	}
	return false
}

// busy says whether the engine diagnoses.
func (c *clinic) busy() bool {
	busy, err := c.Sim.Diag().Running()
	must(c.t, err)
	return busy
}

// idle fails the test if the engine is busy, or a dcgmi runs.
func (c *clinic) idle() {
	c.t.Helper()
	if c.busy() {
		c.t.Error("the engine is busy")
	}
	if pids := c.dcgmis(); pids != "" {
		c.t.Errorf("dcgmi runs: %s", pids)
	}
}

// dcgmis are the processes of dcgmi that the daemon has.
func (c *clinic) dcgmis() string {
	out, _ := exec.Command("pgrep", "--parent", fmt.Sprint(c.PID()), "dcgmi").Output() // it fails where there is none
	return string(out)
}

// TestADiagnosisPassesBeforeTheProbation: after the reset, and the evidence has it.
func TestADiagnosisPassesBeforeTheProbation(t *testing.T) {
	t.Parallel()
	c := diagnosing(t)
	c.StartReady()
	c.sicken(2)
	over := c.cured()
	if !stepIs(over, remediate.StepReset, remediate.Done) || !stepIs(over, remediate.StepDiag, remediate.Done) {
		t.Errorf("steps %v", over.Steps)
	}
	if n := c.Metric("diag_results_total", `level="2"`, `verdict="pass"`); n != 1 {
		t.Errorf("%v GPUs have passed, want 1", n)
	}
	s := c.Status()
	if last := s.Diagnosis.Last; last == nil || len(last.Findings) != 1 || last.Findings[0].GPU != c.GPU(2).UUID || last.Findings[0].Verdict != diag.Passed {
		t.Errorf("the last diagnosis was %+v", s.Diagnosis.Last)
	}
	if s.Node.Diag != "pass-2" || s.Node.DiagAt == "" {
		t.Errorf("the Node shall say %q, at %q", s.Node.Diag, s.Node.DiagAt)
	}
	if code, bundle := c.Get("/api/v1/events/" + over.Verdict.ID); code != 200 || !strings.Contains(bundle, `"kind":"diag"`) {
		t.Errorf("%d, a bundle without the diagnosis:\n%s", code, bundle)
	}
	c.idle()
}

// TestAFailedDiagnosisAsksForAnotherPart, where its errors say so.
func TestAFailedDiagnosisAsksForAnotherPart(t *testing.T) {
	t.Parallel()
	c := diagnosing(t)
	c.StartReady()
	must(t, c.Sim.Diag().Result(c.GPU(2).UUID, "memory", node.Finding{Status: "Fail", Code: 52, Severity: 2, Text: "a bad cell"}))
	c.sicken(2)
	daemontest.Await(t, "another part is asked for", func() bool {
		is := c.Status().Incidents
		return len(is) == 1 && is[0].State == remediate.Failed && is[0].Replacement != nil
	})
	if s := c.Status(); s.Node.Diag != "fail-2" || len(s.Replacements) != 1 {
		t.Errorf("the Node shall say %q, replacements %+v", s.Node.Diag, s.Replacements)
	}
	c.idle()
}

// TestAHungDiagnosisEndsAtItsDeadline: it proves nothing, a person is waited for, and
// nothing of it is left.
func TestAHungDiagnosisEndsAtItsDeadline(t *testing.T) {
	t.Parallel()
	c := diagnosing(t)
	c.Config.Repair.Diag.Level2 = shortest
	must(t, c.Sim.Diag().Set("hang", "pcie"))
	c.StartReady()
	c.sicken(2)
	daemontest.Await(t, "the diagnosis runs", func() bool { return c.Status().Diagnosis.Deed != nil })
	c.AwaitMetric(1, "diag_expected_seconds")
	c.blocked()
	c.AwaitLog("DiagUnproven", "did not end within 10s")
	c.idle()
}

// TestWithoutDcgmi the site decides whether the driver's word is enough.
func TestWithoutDcgmi(t *testing.T) {
	t.Parallel()
	for _, then := range []remediate.Unproven{remediate.DiagHold, remediate.DiagAccept} {
		t.Run(string(then), func(t *testing.T) {
			t.Parallel()
			c := diagnosing(t)
			c.Config.Repair.Diag.Command, c.Config.Repair.Diag.Unproven = []string{"/nonexistent/dcgmi"}, then
			c.StartReady()
			c.sicken(2)
			if then == remediate.DiagAccept {
				c.cured()
				c.AwaitLog("DiagAccepted", "/nonexistent/dcgmi")
				return
			}
			c.blocked()
			c.AwaitLog("DiagUnproven", "/nonexistent/dcgmi")
		})
	}
}

// TestWorkEndsADiagnosis that somebody has asked for, within 10 s.
func TestWorkEndsADiagnosis(t *testing.T) {
	t.Parallel()
	c := diagnosing(t)
	must(t, c.Sim.Diag().Set("hang", "memory"))
	c.StartReady()
	asked := exec.Command(programs.Binary(t), "diag", "--level", "2", "--wait", "--url", c.URL(), "--gpu", c.GPU(2).UUID)
	var said strings.Builder
	asked.Stdout, asked.Stderr = &said, &said
	must(t, asked.Start())
	daemontest.Await(t, "the diagnosis runs", c.busy)
	arrived := time.Now()
	c.hold("python3", 2, "")
	daemontest.Await(t, "the engine is free", func() bool { return !c.busy() })
	took := time.Since(arrived)
	t.Logf("from the work's coming to the engine free: %s", took.Round(time.Millisecond))
	if took > 10*time.Second {
		t.Errorf("the diagnosis went on for %s beside the work", took)
	}
	if err := asked.Wait(); err == nil || asked.ProcessState.ExitCode() != 4 || !strings.Contains(said.String(), "python3") {
		t.Errorf("exit status %d, want 4, with the holder:\n%s", asked.ProcessState.ExitCode(), said.String())
	}
	c.idle()
	if is := c.Status().Incidents; len(is) != 0 {
		t.Errorf("incidents %v of a diagnosis that was called off", is)
	}
}

// TestADiagnosisByHandShowsItsAnswer, and a GPU that fails it is out of service.
func TestADiagnosisByHandShowsItsAnswer(t *testing.T) {
	t.Parallel()
	c := diagnosing(t)
	must(t, c.Sim.Diag().Result(c.GPU(3).UUID, "pcie", node.Finding{Status: "Fail", Code: 40, Severity: 2, Text: "links fail"}))
	c.StartReady()
	for _, want := range []int{0, 3} {
		gpu := 2 + want/3
		cmd := exec.Command(programs.Binary(t), "diag", "--wait", "--url", c.URL(), "--gpu", c.GPU(gpu).UUID)
		out, _ := cmd.CombinedOutput() // its exit status is looked at
		if code := cmd.ProcessState.ExitCode(); code != want || !strings.Contains(string(out), "DCGM diagnostics level 2") {
			t.Errorf("GPU %d: exit status %d, want %d:\n%s", gpu, code, want, out)
		}
	}
	daemontest.Await(t, "level 3 has confirmed it", func() bool {
		is := c.Status().Incidents
		return len(is) == 1 && is[0].State == remediate.Failed && is[0].Verdict.Class == fault.DiagFailed && c.Status().Node.Diag == "fail-3"
	})
}

// TestADiagnosisByAnnotation is taken from the Node, once, and answered there.
func TestADiagnosisByAnnotation(t *testing.T) {
	t.Parallel()
	h := inRepair(t)
	h.diagnoses()
	must(t, h.Sim.DCGM().Start(dcgmEngine))
	h.inService()
	h.edit(`{"metadata":{"annotations":{"gpuhealthd.io/diag-request":"3"}}}`)
	h.awaitEvent("DiagPassed")
	n := h.object()
	if got := n.Labels["gpuhealthd.io/diag"]; got != "pass-3" {
		t.Errorf("the label says %q, want pass-3", got)
	}
	if _, err := time.Parse(time.RFC3339, n.Annotations["gpuhealthd.io/diag-time"]); err != nil {
		t.Error(err)
	}
	if text, there := n.Annotations["gpuhealthd.io/diag-request"]; there {
		t.Errorf("the request %q is still there", text)
	}
	if n.Spec.Unschedulable {
		t.Error("a diagnosis that was asked for took the node out of service")
	}
}

// TestADiagnosisWithoutADaemon is run by the command itself, and not beside work.
func TestADiagnosisWithoutADaemon(t *testing.T) {
	t.Parallel()
	c := diagnosing(t)
	c.StartReady()
	url := c.URL()
	c.Stop()
	run := func(gpu int) (code int, out string) {
		cmd := exec.Command(programs.Binary(t), "diag", "--url", url, "--config", c.ConfigPath(), "--gpu", c.GPU(gpu).UUID)
		cmd.Env = append(os.Environ(), c.Env...)
		text, _ := cmd.CombinedOutput() // its exit status is looked at
		return cmd.ProcessState.ExitCode(), string(text)
	}
	c.hold("python3", 2, "")
	if code, out := run(2); code != 4 || !strings.Contains(out, "python3") {
		t.Errorf("exit status %d under work, want 4 with the holder:\n%s", code, out)
	}
	if code, out := run(3); code != 0 || !strings.Contains(out, "verdict") {
		t.Errorf("exit status %d, want 0:\n%s", code, out)
	}
}

// TestADiagnosisWithoutAnything set: the host's processes are found by HOST_PROC, no
// daemon has ever made the folder of its state, and of two GPUs one is held.
func TestADiagnosisWithoutAnythingSet(t *testing.T) {
	t.Parallel()
	c := diagnosing(t)
	c.Config.Repair.Proc, c.Config.State.Path = "", filepath.Join(t.TempDir(), "none", "state.db")
	text, err := yaml.Marshal(c.Config)
	must(t, err)
	path := filepath.Join(t.TempDir(), "config.yaml")
	must(t, os.WriteFile(path, text, 0o600))
	c.hold("python3", 2, "")
	cmd := exec.Command(programs.Binary(t), "diag", "--url", "", "--config", path, "--gpu", c.GPU(2).UUID, "--gpu", strings.ToUpper(c.GPU(3).UUID))
	cmd.Env = append(append(os.Environ(), c.Env...), "HOST_PROC="+c.proc())
	out, _ := cmd.CombinedOutput() // its exit status is looked at
	lines := strings.Join(strings.Fields(string(out)), " ")
	if code := cmd.ProcessState.ExitCode(); code != 4 || !strings.Contains(lines, "verdict pass not-run") || !strings.Contains(lines, c.GPU(2).UUID+": not-run held by process") {
		t.Errorf("exit status %d, want 4, one passed and one held:\n%s", code, out)
	}
}

// TestADiagnosisOfAnAgentThatWasKilled holds its GPU still: none is begun beside it.
func TestADiagnosisOfAnAgentThatWasKilled(t *testing.T) {
	t.Parallel()
	c := diagnosing(t)
	left := c.hold("nvvs", 2, "")
	c.StartReady()
	id := exec.Command(programs.Binary(t), "diag", "--url", c.URL(), "--gpu", c.GPU(2).UUID)
	out, err := id.CombinedOutput()
	must(t, err)
	daemontest.Await(t, "it waits for that", func() bool {
		w := c.Status().Diagnosis.Waits
		return w != nil && strings.Contains(w.For, "in use by a diagnosis of DCGM's, process") && strings.Contains(w.For, "nvvs")
	})
	left.Kill()
	daemontest.Await(t, "it has passed", func() bool {
		a := c.Status().Diagnosis.Answer
		return a != nil && strings.Contains(string(out), a.ID) && a.Check == remediate.CheckPassed
	})
}

// TestADiagnosisBesideADaemonElsewhere is refused at once: by whom, and how to ask.
func TestADiagnosisBesideADaemonElsewhere(t *testing.T) {
	t.Parallel()
	c := diagnosing(t)
	c.StartReady()
	cmd := exec.Command(programs.Binary(t), "diag", "--config", c.ConfigPath()) // whose port the kernel chose
	cmd.Env = append(os.Environ(), c.Env...)
	text, _ := cmd.CombinedOutput() // its exit status is looked at
	if code := cmd.ProcessState.ExitCode(); code != 1 {
		t.Errorf("exit status %d, want 1", code)
	}
	for _, want := range []string{fmt.Sprintf("process %d,", c.PID()), c.Config.State.Path + " locked", "--url", "gpuhealthd.io/diag-request"} {
		if !strings.Contains(string(text), want) {
			t.Errorf("no %q in: %s", want, text)
		}
	}
}
