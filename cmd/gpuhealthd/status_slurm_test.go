package main

import (
	"strings"
	"testing"

	"github.com/gpuhealthd/gpuhealthd/internal/agent"
	"github.com/gpuhealthd/gpuhealthd/internal/config"
	"github.com/gpuhealthd/gpuhealthd/internal/replay"
	"github.com/gpuhealthd/gpuhealthd/remediate"
)

// onSlurm is a healthy agent whose actuator is Slurm.
func onSlurm() agent.Status {
	s := healthy()
	s.Actuator = string(config.ActuatorSlurm)
	return s
}

// drained is a node that mode contain has taken out of service in Slurm.
func drained() agent.Status {
	s := quarantined()
	s.Actuator, s.API, s.Closed = string(config.ActuatorSlurm), nil, true
	i := &s.Incidents[0]
	i.Steps = append(i.Steps, remediate.Step{Kind: remediate.StepDrain, Status: remediate.Requested, Since: i.Verdict.Opened})
	i.Waits = []remediate.Waiting{{Step: remediate.StepDrain, For: "whoever does that for this site"}}
	return s
}

// TestTheFirstLines: what the node is, and what the scheduler says of that.
func TestTheFirstLines(t *testing.T) {
	away := &agent.Trouble{Error: "Unable to contact slurm controller", At: noon}
	for name, c := range map[string]struct {
		change func(*agent.Status)
		want   []string
	}{
		"healthy":           {func(*agent.Status) {}, []string{"Node      healthy (mode contain)\n", "Slurm     in order, 0 events waiting\n"}},
		"slurmctld is away": {func(s *agent.Status) { s.API, s.Node = away, nil }, []string{"Node      not known yet (mode contain): Slurm has not said what it is\n", "Slurm     Unable to contact"}},
		"no event taken":    {func(s *agent.Status) { s.Untold, s.Waiting = away, 7 }, []string{"Slurm     events are not taken: Unable to contact slurm controller; 7 events waiting\n"}},
		"to be resumed":     {func(s *agent.Status) { s.API, s.Closed = away, true }, []string{"Node      healthy (mode contain); Slurm does not say so yet\n"}},
		"drained by others": {func(s *agent.Status) { s.Closed = true }, []string{"Node      healthy (mode contain); kept out of service by somebody else\n"}},
		"programs":          {func(s *agent.Status) { s.Actuator = string(config.ActuatorExec) }, []string{"\nExec      in order"}},
	} {
		s := onSlurm()
		c.change(&s)
		var out strings.Builder
		if err := printStatus(&out, s, replay.Style{}); err != nil {
			t.Fatal(err)
		}
		for _, want := range c.want {
			if !strings.Contains(out.String(), want) {
				t.Errorf("%s: no %q in\n%s", name, want, out.String())
			}
		}
	}
}
