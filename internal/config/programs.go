package config

import (
	"slices"

	"github.com/gpuhealthd/gpuhealthd/remediate"
)

// Program is one that the agent runs on its node, and the setting that names it.
type Program struct{ Setting, Name string }

// Programs gives those that the configuration has the agent run. Of one that is run
// on the host from inside a pod (repair.host) it is what runs it: the host's own files
// are not seen from there.
func (c Config) Programs() (all []Program) {
	r, repairs := c.Repair, c.Policy().Repairs()
	add := func(used bool, setting string, argv []string) {
		if used && len(argv) > 0 && argv[0] != "" && !slices.Contains(all, Program{setting, argv[0]}) {
			all = append(all, Program{setting, argv[0]})
		}
	}
	onHost := func(used bool, setting string, argv ...string) {
		if len(r.Host) > 0 {
			setting, argv = "repair.host", r.Host
		}
		add(used, setting, argv)
	}
	add(r.Diag.Mode == remediate.MeansCommand, "repair.diag.command", r.Diag.Command)
	add(repairs && r.Drain.Mode == remediate.MeansCommand, "repair.drain.command", r.Drain.Command)
	onHost(repairs && r.Reset.Mode == remediate.MeansCommand, "repair.reset.program", r.Reset.Program)
	onHost(repairs && r.Reboot.Mode == remediate.MeansCommand, "repair.reboot.command", r.Reboot.Command...)
	add(c.Actuator == ActuatorSlurm, "slurm.scontrol", c.Slurm.Scontrol)
	add(c.Actuator == ActuatorExec, "exec.quarantine", c.Exec.Quarantine)
	add(c.Actuator == ActuatorExec, "exec.release", c.Exec.Release)
	return all
}
