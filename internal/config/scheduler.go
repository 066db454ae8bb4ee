package config

import (
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/gpuhealthd/gpuhealthd/remediate/execact"
	"github.com/gpuhealthd/gpuhealthd/remediate/slurm"
)

// Slurm says how Slurm is asked, where that is the actuator.
type Slurm struct {
	// Node is this host's NodeName; empty takes Config.Node, then the host's name
	// without its domain.
	Node string `yaml:"node"`
	// Scontrol is the program, with what goes before its arguments.
	Scontrol []string `yaml:"scontrol"`
	// Deadline is for one call; a try of the agent is two.
	Deadline Duration `yaml:"deadline"`
	// Period is the time between two looks at a drained node.
	Period Duration `yaml:"period"`
}

// Exec says which programs are the actuator exec.
type Exec struct {
	// Quarantine takes the node out of service, Release gives it back.
	Quarantine []string `yaml:"quarantine"`
	Release    []string `yaml:"release"`
	// Deadline is for one run.
	Deadline Duration `yaml:"deadline"`
}

// maxCall is the longest that a call may take: the agent gives up a try after it.
const maxCall = 15 * time.Second

func defaultSlurm() Slurm {
	return Slurm{Scontrol: []string{"scontrol"}, Deadline: Duration(7 * time.Second), Period: Duration(30 * time.Second)}
}

func defaultExec() Exec {
	return Exec{Quarantine: []string{}, Release: []string{}, Deadline: Duration(10 * time.Second)}
}

func (s Slurm) check() []finding {
	return []finding{
		{"slurm.node", s.Node != "" && !slurm.ValidName(s.Node), fmt.Sprintf("%q is not the NodeName of one node", s.Node)},
		{"slurm.scontrol", len(s.Scontrol) == 0 || s.Scontrol[0] == "", "empty"},
		{"slurm.deadline", outside(s.Deadline, maxCall/2), bounds(s.Deadline, maxCall/2)},
		{"slurm.period", time.Duration(s.Period) < time.Second, fmt.Sprintf("%s is less than 1s", time.Duration(s.Period))},
	}
}

func (e Exec) check(c *Config) []finding {
	used := c.Actuator == ActuatorExec
	return []finding{
		{"exec.quarantine", used && (len(e.Quarantine) == 0 || e.Quarantine[0] == ""), "empty, and the actuator is exec"},
		{"exec.release", used && (len(e.Release) == 0 || e.Release[0] == ""), "empty, and the actuator is exec"},
		{"exec.deadline", outside(e.Deadline, maxCall), bounds(e.Deadline, maxCall)},
	}
}

func outside(d Duration, most time.Duration) bool {
	return time.Duration(d) < time.Second || time.Duration(d) > most
}

func bounds(d Duration, most time.Duration) string {
	return fmt.Sprintf("%s is not from 1s to %s", time.Duration(d), most)
}

// SlurmNode gives what the actuator needs on the host of this name.
func (c Config) SlurmNode(host string) slurm.Config {
	name := c.Slurm.Node
	if name == "" {
		name, _, _ = strings.Cut(host, ".")
	}
	return slurm.Config{Node: name, Scontrol: c.Slurm.Scontrol, Deadline: time.Duration(c.Slurm.Deadline), Period: time.Duration(c.Slurm.Period)}
}

// ExecNode is the same for the actuator exec, whose memory lies beside the state.
func (c Config) ExecNode(host string) execact.Config {
	return execact.Config{Node: host, Quarantine: c.Exec.Quarantine, Release: c.Exec.Release, Deadline: time.Duration(c.Exec.Deadline),
		Path: filepath.Join(filepath.Dir(c.State.Path), "exec.json")}
}
