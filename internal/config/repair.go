package config

import (
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/gpuhealthd/gpuhealthd/nvlink"
	"github.com/gpuhealthd/gpuhealthd/remediate"
	"github.com/gpuhealthd/gpuhealthd/remediate/pods"
)

// Repair says what the agent does itself in mode repair, and how.
type Repair struct {
	Drain   Drain   `yaml:"drain"`
	Restart Restart `yaml:"restart"`
	Reset   Reset   `yaml:"reset"`
	Reboot  Reboot  `yaml:"reboot"`
	Diag    Diag    `yaml:"diag"`
	// Host is put before every program of the host; empty is the host itself.
	Host []string `yaml:"host"`
	// Proc is the host's process file system, empty for $HOST_PROC and then /proc;
	// Dev where its processes have the device files.
	Proc string `yaml:"proc"`
	Dev  string `yaml:"dev"`
	// Services are processes, by name, that have GPUs open and are no work; where
	// there are no pods to tell by.
	Services []string `yaml:"services"`
	// Settle is how long after a repair the fault may take to be seen over.
	Settle Duration `yaml:"settle"`
	// Memory is how long a repair of a GPU counts against the next one.
	Memory Duration `yaml:"memory"`
	// Unreachable is how long a hard fault waits for its cordon to be seen.
	Unreachable Duration `yaml:"unreachable"`
	// Remind is how long what waits for others goes untold.
	Remind Duration `yaml:"remind"`
}

// Drain says how the work on a GPU is made to leave.
type Drain struct {
	// Mode is pods, slurm, command or off.
	Mode remediate.Means `yaml:"mode"`
	// Command is the program of mode command, with its arguments.
	Command  []string `yaml:"command"`
	Deadline Duration `yaml:"deadline"`
	// AtDeadline is wait or force.
	AtDeadline remediate.AtDeadline `yaml:"atDeadline"`
	// KubeletSocket is where the kubelet says which pod was given which GPU.
	KubeletSocket string `yaml:"kubeletSocket"`
	// Resources are patterns of the names under which GPUs are given out.
	Resources []string `yaml:"resources"`
}

// Restart says how a replica is restarted whose engine has stalled.
type Restart struct {
	// Mode is pods, off or auto: pods where the actuator is kubernetes, off elsewhere.
	Mode     remediate.Means `yaml:"mode"`
	Deadline Duration        `yaml:"deadline"`
}

// restartAuto goes by the actuator.
const restartAuto remediate.Means = "auto"

// means are those of the agent, by who carries its plans out.
func (r Restart) means(a Actuator) remediate.Means {
	switch {
	case r.Mode != restartAuto:
		return r.Mode
	case a == ActuatorKubernetes:
		return remediate.MeansPods
	}
	return remediate.MeansOff
}

// Reset says how GPUs are reset.
type Reset struct {
	// Mode is off, command, annotation or resource.
	Mode     remediate.Means `yaml:"mode"`
	Deadline Duration        `yaml:"deadline"`
	// OnHolders is reboot or hold.
	OnHolders remediate.OnHolders `yaml:"onHolders"`
	// Scope is auto, gpu, group or baseboard.
	Scope string `yaml:"scope"`
	// Program is nvidia-smi, as the host finds it.
	Program string `yaml:"program"`
	// PauseOperands pauses the GPU operator's services meanwhile.
	PauseOperands bool `yaml:"pauseOperands"`
	// Resource is the file of mode resource.
	Resource string `yaml:"resource"`
}

// Reboot says how the host is rebooted.
type Reboot struct {
	// Mode is off, command, slurm, annotation or resource.
	Mode remediate.Means `yaml:"mode"`
	// Command is the program of mode command, with its arguments.
	Command  []string `yaml:"command"`
	Deadline Duration `yaml:"deadline"`
	// Resource is the file of mode resource.
	Resource string `yaml:"resource"`
}

// scopeAuto goes by the boards' names.
const scopeAuto = "auto"

// defaultRepair is what holds where a site says nothing: pods are evicted, and who
// resets or reboots has to be named first.
func defaultRepair() Repair {
	p := remediate.DefaultRepair()
	return Repair{
		Drain: Drain{Mode: remediate.MeansPods, Command: []string{}, Deadline: Duration(p.Drain.Deadline), AtDeadline: p.Drain.AtDeadline,
			KubeletSocket: pods.DefaultSocket, Resources: pods.DefaultResources()},
		Restart: Restart{Mode: restartAuto, Deadline: Duration(p.Restart.Deadline)},
		Reset: Reset{Mode: p.Reset.Mode, Deadline: Duration(p.Reset.Deadline), OnHolders: p.Reset.OnHolders, Scope: scopeAuto,
			Program: "nvidia-smi", PauseOperands: true},
		Reboot: Reboot{Mode: p.Reboot.Mode, Command: []string{"systemctl", "reboot"}, Deadline: Duration(p.Reboot.Deadline)},
		Diag:   defaultDiag(),
		Host:   []string{}, Dev: "/dev",
		Services: []string{"nvidia-persiste", "nv-hostengine", "nv-fabricmanage", "nvidia-imex", "dcgm-exporter", "nvidia-smi", "dcgmi", "nvvs"},
		Settle:   Duration(p.Settle), Memory: Duration(p.Memory),
		Unreachable: Duration(p.Unreachable), Remind: Duration(p.Remind),
	}
}

// Policy gives the plan's view of the configuration.
func (c Config) Policy() remediate.Policy {
	p, r := remediate.DefaultRepair(), c.Repair
	p.Mode, p.Probation = c.Mode, time.Duration(c.Contain.Probation)
	if c.Serving.Enabled {
		p.Replicas = time.Duration(c.Serving.ProbationLimit)
	}
	p.Modes, p.Guards = c.modes(), c.rules()
	p.Fence = c.Contain.Fence == FenceAuto && c.Actuator == ActuatorKubernetes
	p.KeepFromAutoscaler = c.Kubernetes.KeepFromAutoscaler
	p.Settle, p.Memory = time.Duration(r.Settle), time.Duration(r.Memory)
	p.Unreachable, p.Remind = time.Duration(r.Unreachable), time.Duration(r.Remind)
	p.Drain = remediate.DrainPolicy{Mode: r.Drain.Mode, Deadline: time.Duration(r.Drain.Deadline), AtDeadline: r.Drain.AtDeadline}
	p.Restart = remediate.RestartPolicy{Mode: r.Restart.means(c.Actuator), Deadline: time.Duration(r.Restart.Deadline)}
	p.Reset = remediate.ResetPolicy{Mode: r.Reset.Mode, Deadline: time.Duration(r.Reset.Deadline), OnHolders: r.Reset.OnHolders}
	p.Reboot = remediate.RebootPolicy{Mode: r.Reboot.Mode, Deadline: time.Duration(r.Reboot.Deadline)}
	p.Diag = r.Diag.policy(c.Node)
	return p
}

// FixedScope is how far a reset reaches where the site has decided it; empty goes by
// the boards' names.
func (r Reset) FixedScope() nvlink.ResetScope {
	if r.Scope == scopeAuto {
		return ""
	}
	return nvlink.ResetScope(r.Scope)
}

// least is the shortest time that a deed may be given.
const least = 10 * time.Second

// check finds what is wrong. Most of it counts in mode repair only, but a file is
// read the same in every mode.
func (r Repair) check(c *Config) []finding {
	repair, api, slurm := c.Policy().Repairs(), c.Actuator == ActuatorKubernetes, c.Actuator == ActuatorSlurm
	_, scope := nvlink.ParseResetScope(r.Reset.Scope)
	d, x, b := r.Drain, r.Reset, r.Reboot
	return append([]finding{
		oneOf("repair.drain.mode", d.Mode, remediate.MeansOff, remediate.MeansPods, remediate.MeansSlurm, remediate.MeansCommand),
		{"repair.drain.mode", repair && !api && d.Mode == remediate.MeansPods, "pods, and the actuator is not kubernetes"},
		{"repair.drain.mode", repair && !slurm && d.Mode == remediate.MeansSlurm, "slurm, and the actuator is not slurm"},
		{"repair.drain.atDeadline", d.Mode == remediate.MeansSlurm && d.AtDeadline == remediate.Force, "force, and repair.drain.mode is slurm, which ends no job"},
		{"repair.drain.command", d.Mode == remediate.MeansCommand && len(d.Command) == 0, "empty, and repair.drain.mode is command"},
		oneOf("repair.drain.atDeadline", d.AtDeadline, remediate.Wait, remediate.Force),
		{"repair.drain.kubeletSocket", !filepath.IsAbs(d.KubeletSocket), fmt.Sprintf("%q is not an absolute path", d.KubeletSocket)},
		{"repair.proc", r.Proc != "" && !filepath.IsAbs(r.Proc), fmt.Sprintf("%q is not an absolute path", r.Proc)},
		{"repair.dev", !filepath.IsAbs(r.Dev), fmt.Sprintf("%q is not an absolute path", r.Dev)},
		{"repair.drain.deadline", tooShort(d.Deadline), tells(d.Deadline)},
		oneOf("repair.restart.mode", r.Restart.Mode, restartAuto, remediate.MeansOff, remediate.MeansPods),
		{"repair.restart.mode", repair && !api && r.Restart.Mode == remediate.MeansPods, "pods, and the actuator is not kubernetes"},
		{"repair.restart.deadline", tooShort(r.Restart.Deadline), tells(r.Restart.Deadline)},
		{"repair.reset.mode", !agents(x.Mode), fmt.Sprintf("%q is not off, command, annotation or resource", x.Mode)},
		{"repair.reset.mode", repair && !api && requested(x.Mode), fmt.Sprintf("%s, and the actuator is not kubernetes", x.Mode)},
		oneOf("repair.reset.onHolders", x.OnHolders, remediate.HolderReboot, remediate.HolderHold),
		{"repair.reset.scope", x.Scope != scopeAuto && scope != nil, fmt.Sprintf("%q is not auto, gpu, group or baseboard", x.Scope)},
		{"repair.reset.program", x.Program == "", "empty"},
		{"repair.reset.resource", x.Mode == remediate.MeansResource && x.Resource == "", "empty, and repair.reset.mode is resource"},
		{"repair.reset.deadline", tooShort(x.Deadline), tells(x.Deadline)},
		{"repair.reboot.mode", !agents(b.Mode) && b.Mode != remediate.MeansSlurm, fmt.Sprintf("%q is not off, command, slurm, annotation or resource", b.Mode)},
		{"repair.reboot.mode", repair && !slurm && b.Mode == remediate.MeansSlurm, "slurm, and the actuator is not slurm"},
		{"repair.reboot.mode", repair && !api && requested(b.Mode), fmt.Sprintf("%s, and the actuator is not kubernetes", b.Mode)},
		{"repair.reboot.command", b.Mode == remediate.MeansCommand && len(b.Command) == 0, "empty, and repair.reboot.mode is command"},
		{"repair.reboot.resource", b.Mode == remediate.MeansResource && b.Resource == "", "empty, and repair.reboot.mode is resource"},
		{"repair.reboot.deadline", tooShort(b.Deadline), tells(b.Deadline)},
		{"repair.settle", tooShort(r.Settle), tells(r.Settle)},
		{"repair.memory", tooShort(r.Memory), tells(r.Memory)},
		{"repair.unreachable", tooShort(r.Unreachable), tells(r.Unreachable)},
		{"repair.remind", tooShort(r.Remind), tells(r.Remind)},
	}, r.Diag.check()...)
}

func among[T comparable](v T, of ...T) bool { return slices.Contains(of, v) }

func agents(m remediate.Means) bool {
	return among(m, remediate.MeansOff, remediate.MeansCommand) || requested(m)
}

func requested(m remediate.Means) bool {
	return among(m, remediate.MeansAnnotation, remediate.MeansResource)
}

func tooShort(d Duration) bool { return time.Duration(d) < least }

func tells(d Duration) string { return fmt.Sprintf("%s is less than %s", time.Duration(d), least) }
