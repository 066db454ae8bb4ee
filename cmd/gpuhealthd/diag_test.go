package main

import (
	"bytes"
	"context"
	"errors"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/gpuhealthd/gpuhealthd/diag"
	"github.com/gpuhealthd/gpuhealthd/diag/dcgmi"
	"github.com/gpuhealthd/gpuhealthd/internal/agent"
	"github.com/gpuhealthd/gpuhealthd/internal/httpd"
	"github.com/gpuhealthd/gpuhealthd/remediate"
)

// diagnosing is an agent that diagnoses, and has its answer at the second look.
type diagnosing struct {
	fixed

	answer remediate.Answer
	last   *diag.Outcome
	looks  *atomic.Int32
}

func (d diagnosing) Diagnose(_ context.Context, _ int, gpus []string) (string, error) {
	if len(gpus) == 1 && gpus[0] == "GPU-9" {
		return "", remediate.RequestError("no GPU that answers has the UUID \"GPU-9\"")
	}
	if len(gpus) > 1 {
		return "", errors.New("another diagnosis is asked for already: hand-7")
	}
	return "hand-1", nil
}

func (d diagnosing) CancelDiagnosis(context.Context) (string, error) {
	if d.looks.Add(1) > 1 {
		return "", errors.New("no diagnosis is asked for")
	}
	return "hand-1", nil
}

func (d diagnosing) Status() agent.Status {
	s := agent.Status{At: noon, Mode: remediate.Contain}
	if d.looks.Add(1) == 1 {
		s.Diagnosis.Asking = &remediate.Asking{ID: "hand-1", Level: 2, Deed: "asked-diag-2"}
		s.Diagnosis.Deed = &remediate.Deed{ID: "asked-diag-2", Level: 2}
		s.Diagnosis.Progress = dcgmi.Progress{Elapsed: 62 * time.Second, AtMost: 15 * time.Minute, Expected: diag.Expected(2)}
		return s
	}
	s.Diagnosis.Answer, s.Diagnosis.Answered, s.Diagnosis.Last = &d.answer, d.last, d.last
	return s
}

func TestDiagAsksTheDaemon(t *testing.T) {
	found := func(v diag.Verdict) *diag.Outcome {
		return &diag.Outcome{Level: 2, GPUs: []diag.GPU{{UUID: "GPU-1"}}, Findings: []diag.Finding{{GPU: "GPU-1", Verdict: v, Reasons: []string{"memory: a bad cell"}}},
			Report: diag.Report{Version: "4.6.0", Runs: []diag.Run{{Tests: []diag.Test{{Name: "memory", Results: []diag.Result{{Group: "GPU", Status: diag.StatusPass}}}}}}}}
	}
	answered := func(id string, deed string, c remediate.Check, why string) remediate.Answer {
		return remediate.Answer{Asking: remediate.Asking{ID: id, Deed: deed}, Check: c, Text: why}
	}
	for name, c := range map[string]struct {
		args   []string
		answer remediate.Answer
		last   *diag.Outcome
		code   int
		out    []string
	}{
		"passes":      {[]string{"--wait"}, answered("hand-1", "asked-diag-2", remediate.CheckPassed, ""), found(diag.Passed), 0, []string{"runs for 1m2s, takes up to 10m30s", "DCGM diagnostics level 2, DCGM 4.6.0", "verdict  pass"}},
		"fails":       {[]string{"--wait", "--gpu", "GPU-1"}, answered("hand-1", "asked-diag-2", remediate.CheckFailed, "bad"), found(diag.Failed), 3, []string{"verdict  fail", "a bad cell"}},
		"never began": {[]string{"--wait"}, answered("hand-1", "", remediate.CheckNotRun, "held by pod a/b"), found(diag.Passed), 4, []string{"held by pod a/b"}},
		"overtaken":   {[]string{"--wait"}, answered("hand-2", "", remediate.CheckPassed, ""), nil, 1, []string{"knows nothing of hand-1"}},
		"no waiting":  {nil, remediate.Answer{}, nil, 0, []string{"asked for, as hand-1"}},
		"refused":     {[]string{"--gpu", "a,b"}, remediate.Answer{}, nil, 1, []string{"another diagnosis is asked for already: hand-7"}},
		"no such GPU": {[]string{"--gpu", "GPU-9"}, remediate.Answer{}, nil, 2, []string{`no GPU that answers has the UUID "GPU-9"`}},
		"empty GPU":   {[]string{"--gpu", ""}, remediate.Answer{}, nil, 2, []string{"names no GPU"}},
		"one empty":   {[]string{"--gpu", "GPU-1,"}, remediate.Answer{}, nil, 2, []string{"names no GPU"}},
		"high level":  {[]string{"--level", "4"}, remediate.Answer{}, nil, 2, []string{"it is not 1, 2 or 3"}},
		"no level":    {[]string{"--level", "x"}, remediate.Answer{}, nil, 2, []string{`"x"`, "it is not 1, 2 or 3"}},
		"cancel":      {[]string{"--cancel"}, remediate.Answer{}, nil, 0, []string{"hand-1 is cancelled"}},
		"or cancel":   {[]string{"--cancel", "--wait"}, remediate.Answer{}, nil, 2, []string{"--cancel stands alone"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			handler := httpd.Handler(diagnosing{answer: c.answer, last: c.last, looks: new(atomic.Int32)}, nil, prometheus.NewRegistry(), "test")
			server := httptest.NewServer(handler)
			defer server.Close()
			cmd := root()
			var out bytes.Buffer
			cmd.SetOut(&out)
			cmd.SetErr(&out)
			cmd.SetArgs(append([]string{"diag", "--url", strings.TrimPrefix(server.URL, "http://")}, c.args...))
			code := 0
			if err := cmd.Execute(); err != nil {
				code = exitCode(err)
				out.WriteString(err.Error())
			}
			if code != c.code {
				t.Errorf("exit status %d, want %d: %s", code, c.code, out.String())
			}
			for _, want := range c.out {
				if !strings.Contains(out.String(), want) {
					t.Errorf("no %q in:\n%s", want, out.String())
				}
			}
		})
	}
}

// A GPU's holder is named; a service holds nobody up, but for a diagnosis of DCGM's
// that was there before.
func TestHeldBy(t *testing.T) {
	who := staying{Holders: []remediate.Holder{{GPU: "a", PID: 1, Process: "nv-hostengine", Service: true}, {GPU: "b", PID: 2, Process: "nvvs", Service: true}, {GPU: "c", PID: 3, Process: "python3"}}}
	all := []string{"a", "b", "c"}
	if held := heldBy(t.Context(), who, all, false); held["a"] != "" || !strings.Contains(held["b"], "nvvs") || !strings.Contains(held["c"], "python3") {
		t.Errorf("before: %v", held)
	}
	if held := heldBy(t.Context(), who, all, true); held["a"]+held["b"] != "" || !strings.Contains(held["c"], "python3") {
		t.Errorf("meanwhile: %v", held)
	}
	if held := heldBy(t.Context(), staying{Unknown: "no /proc"}, all, true); len(held) != 3 {
		t.Errorf("unknown: %v", held)
	}
}

type staying remediate.Occupancy

func (s staying) Occupancy(context.Context) remediate.Occupancy { return remediate.Occupancy(s) }
