package config

import (
	"fmt"
	"hash/fnv"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/gpuhealthd/gpuhealthd/diag/dcgmi"
	"github.com/gpuhealthd/gpuhealthd/remediate"
	"github.com/gpuhealthd/gpuhealthd/remediate/guard"
)

// Diag says how GPUs are diagnosed by DCGM.
type Diag struct {
	// Mode is off or command.
	Mode remediate.Means `yaml:"mode"`
	// Command is dcgmi, with arguments ahead of ours.
	Command []string `yaml:"command"`
	// HostEngine is HOST, HOST:PORT or the path of a unix socket; empty is the engine
	// on this host.
	HostEngine string `yaml:"hostEngine"`
	// Level is the least that is run after a repair, 2 or 3.
	Level int `yaml:"level"`
	// Level2 and Level3 are how long those levels may run.
	Level2 Duration `yaml:"level2"`
	Level3 Duration `yaml:"level3"`
	// Patience is how long a busy engine is waited for.
	Patience Duration `yaml:"patience"`
	// Unproven is hold or accept.
	Unproven remediate.Unproven `yaml:"unproven"`
	Schedule DiagSchedule       `yaml:"schedule"`
}

// DiagSchedule says when GPUs are diagnosed that are idle anyway.
type DiagSchedule struct {
	// Every is the time from one to the next; 0s is never.
	Every Duration `yaml:"every"`
	Level int      `yaml:"level"`
	// Windows are the times of day, in UTC, in which one may begin; none is any time.
	Windows []Window `yaml:"windows"`
	// AtOnce is how many nodes of a group may be diagnosed at once, PerRack how many
	// of a rack: of the nodes with the same value of the Node label Rack, or, where
	// that is empty, of an NVLink domain.
	AtOnce  int    `yaml:"atOnce"`
	PerRack int    `yaml:"perRack"`
	Rack    string `yaml:"rack"`
}

// Window is a time of day, written as 22:00-06:00.
type Window remediate.Window

// UnmarshalYAML reads a window.
func (w *Window) UnmarshalYAML(n *yaml.Node) error {
	var from, to [2]int
	text := fmt.Sprintf("%q is not a time of day; write it as 22:00-06:00", n.Value)
	var rest string
	if read, _ := fmt.Sscanf(n.Value+" ", "%2d:%2d-%2d:%2d%1s", &from[0], &from[1], &to[0], &to[1], &rest); read != 4 || !clock(from) || !clock(to) || from == to {
		return fmt.Errorf("%s", text)
	}
	*w = Window{From: timeOf(from), To: timeOf(to)}
	return nil
}

func clock(t [2]int) bool { return t[0] >= 0 && t[0] < 24 && t[1] >= 0 && t[1] < 60 }

func timeOf(t [2]int) time.Duration {
	return time.Duration(t[0])*time.Hour + time.Duration(t[1])*time.Minute
}

// MarshalYAML writes the window as UnmarshalYAML reads it.
func (w Window) MarshalYAML() (any, error) {
	of := func(d time.Duration) string {
		return fmt.Sprintf("%02d:%02d", int(d.Hours()), int(d.Minutes())%60)
	}
	return of(w.From) + "-" + of(w.To), nil
}

func defaultDiag() Diag {
	d := dcgmi.Default()
	p := remediate.DefaultRepair().Diag
	return Diag{Mode: p.Mode, Command: d.Command, Level: p.Level, Level2: Duration(d.Level2), Level3: Duration(d.Level3),
		Patience: Duration(d.Patience), Unproven: p.Unproven, Schedule: DiagSchedule{Level: 2, Windows: []Window{}, AtOnce: guard.Default().Rota.AtOnce, PerRack: guard.Default().Rota.PerRack}}
}

// policy gives the plan's view. A deed of the plan's takes what is waited for as
// well; node spreads the schedules of a fleet.
func (d Diag) policy(node string) remediate.DiagPolicy {
	more := time.Duration(d.Patience) + 2*time.Minute
	s := remediate.Schedule{Every: time.Duration(d.Schedule.Every), Level: d.Schedule.Level, Share: share(node)}
	for _, w := range d.Schedule.Windows {
		s.Windows = append(s.Windows, remediate.Window(w))
	}
	return remediate.DiagPolicy{Mode: d.Mode, Level: d.Level, Level2: time.Duration(d.Level2) + more, Level3: time.Duration(d.Level3) + more,
		Unproven: d.Unproven, Schedule: s}
}

// share is a node's own place, from 0 to less than 1, the same at every start.
func share(node string) float64 {
	h := fnv.New32a()
	_, _ = h.Write([]byte(node)) // a hash takes everything
	return float64(h.Sum32()) / (1 << 32)
}

// Runner says how dcgmi is run.
func (d Diag) Runner() dcgmi.Config {
	c := dcgmi.Default()
	c.Command, c.Host = d.Command, d.HostEngine
	c.Level2, c.Level3, c.Patience = time.Duration(d.Level2), time.Duration(d.Level3), time.Duration(d.Patience)
	return c
}

// minEvery is the shortest time between two scheduled diagnoses: they take the
// GPUs' full power.
const minEvery = time.Hour

func (d Diag) check() []finding {
	s, every := d.Schedule, time.Duration(d.Schedule.Every)
	return []finding{
		oneOf("repair.diag.mode", d.Mode, remediate.MeansOff, remediate.MeansCommand),
		{"repair.diag.command", len(d.Command) == 0 || d.Command[0] == "", "empty"},
		{"repair.diag.level", !among(d.Level, 2, 3), fmt.Sprintf("%d is not 2 or 3", d.Level)},
		{"repair.diag.level2", tooShort(d.Level2), tells(d.Level2)},
		{"repair.diag.level3", tooShort(d.Level3), tells(d.Level3)},
		oneOf("repair.diag.unproven", d.Unproven, remediate.DiagHold, remediate.DiagAccept),
		{"repair.diag.schedule.every", every > 0 && every < minEvery, fmt.Sprintf("%s is less than %s", every, minEvery)},
		{"repair.diag.schedule.every", every > 0 && d.Mode == remediate.MeansOff, fmt.Sprintf("%s, and repair.diag.mode is off: nobody here diagnoses", every)},
		{"repair.diag.schedule.level", !among(s.Level, 2, 3), fmt.Sprintf("%d is not 2 or 3", s.Level)},
		{"repair.diag.schedule.atOnce", s.AtOnce < 1, fmt.Sprintf("%d is less than 1", s.AtOnce)},
		{"repair.diag.schedule.perRack", s.PerRack < 1, fmt.Sprintf("%d is less than 1", s.PerRack)},
		{"repair.diag.schedule.rack", s.Rack != "" && !labelKey.MatchString(s.Rack), fmt.Sprintf("%q is not a label's key", s.Rack)},
	}
}
