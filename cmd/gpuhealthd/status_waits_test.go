package main

import (
	"bytes"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gpuhealthd/gpuhealthd/diag/dcgmi"
	"github.com/gpuhealthd/gpuhealthd/fault"
	"github.com/gpuhealthd/gpuhealthd/internal/agent"
	"github.com/gpuhealthd/gpuhealthd/remediate"
	"github.com/gpuhealthd/gpuhealthd/remediate/guard"
)

// waiting is an agent all of whose deeds wait for somebody.
func waiting() agent.Status {
	s := quarantined()
	s.API, s.Diagnoses = nil, nil
	s.Missing = []agent.MissingProgram{{Setting: "repair.diag.command", Why: `exec: "dcgmi": executable file not found in $PATH`}}
	i := &s.Incidents[0]
	i.Steps = []remediate.Step{
		{Kind: remediate.StepDrain, Status: remediate.Overdue, Since: noon.Add(-3 * time.Minute)},
		{Kind: remediate.StepReset, Status: remediate.Blocked, Since: noon.Add(-2 * time.Minute)},
		{Kind: remediate.StepReboot, Status: remediate.Fruitless, Since: noon.Add(-time.Hour), Why: "exit status 1\x1b[2J"},
		{Kind: remediate.StepDiag, Status: remediate.Planned, Since: noon.Add(-time.Minute)},
	}
	i.Waits = []remediate.Waiting{
		{Step: remediate.StepDrain, For: "the budget allows no disruption; held by pod default/train", Until: noon.Add(27 * time.Minute)},
		{Step: remediate.StepReset, For: "held by process 4711 (python3)"},
		{Step: remediate.StepDiag, For: "held by pod default/train", Until: noon.Add(4 * time.Minute)},
	}
	s.Diagnosis = agent.DiagnosisStatus{
		Asking: &remediate.Asking{ID: "hand-3", Level: 3, GPUs: []fault.Device{}},
		Waits:  &remediate.Waiting{Step: remediate.StepDiag, For: "held by pod default/train", Until: noon.Add(5 * time.Minute)},
		Held: []remediate.HeldAction{{Action: guard.Scheduled, Since: noon.Add(-8 * time.Minute), Hold: guard.Hold{Guard: guard.Power,
			Why: "1 node of rack=7 being diagnosed (node-3), and 1 may be", Until: "fewer than 1 are"}}},
	}
	return s
}

func TestProgressText(t *testing.T) {
	for want, p := range map[string]dcgmi.Progress{
		"begins": {},
		"waits for the engine; given up after 10m":           {Waiting: "the engine", Elapsed: 40 * time.Millisecond, AtMost: 10 * time.Minute},
		"waits for 1m15s for the engine; given up after 10m": {Waiting: "the engine", Elapsed: 75 * time.Second, AtMost: 10 * time.Minute},
		"runs, takes up to 10m30s, stopped after 15m":        {AtMost: 15 * time.Minute, Expected: 10*time.Minute + 30*time.Second},
		"runs for 2h, takes up to 2h, stopped after 3h":      {Elapsed: 2 * time.Hour, AtMost: 3 * time.Hour, Expected: 2 * time.Hour},
		"is being stopped, after 45m":                        {Elapsed: 46 * time.Minute, AtMost: 45 * time.Minute, Expected: 35 * time.Minute},
		"is being stopped, after 1m":                         {Waiting: "the engine", Elapsed: 69 * time.Second, AtMost: time.Minute},
	} {
		if got := progressText(p); got != want {
			t.Errorf("%+v: %q, want %q", p, got, want)
		}
	}
}

// Where nobody looks each phase is said once, and again every minute.
func TestProgressInALog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		show := newDiagProgress(&out)
		show.line("the engine", "waits")
		for range 90 {
			show.line("", "runs")
			time.Sleep(time.Second)
		}
		if got := out.String(); got != "waits\nruns\nruns\n" {
			t.Errorf("%q", got)
		}
	})
}
