// Package config reads the daemon's configuration and refuses what it does not
// understand: an unknown key, a wrong type or a value out of range is an error
// that names the file, the line and the field. Nothing is guessed.
package config

import (
	"net"
	"time"

	"github.com/gpuhealthd/gpuhealthd/collector/kernlog"
	"github.com/gpuhealthd/gpuhealthd/collector/pci"
	"github.com/gpuhealthd/gpuhealthd/fault"
	"github.com/gpuhealthd/gpuhealthd/remediate"
)

// Config is all that a site can decide. The comments in packaging/config.yaml
// explain it to operators.
type Config struct {
	// Node is the name of the Node object; empty takes $NODE_NAME, then the
	// host's name.
	Node string `yaml:"node"`
	// Mode says how far the agent may go: observe, contain or repair.
	Mode remediate.Mode `yaml:"mode"`
	// Modes hold for a class of fault, by its name, in the place of Mode.
	Modes      map[string]remediate.Mode `yaml:"modes"`
	KernelLog  KernelLog                 `yaml:"kernelLog"`
	OtherLogs  OtherLogs                 `yaml:"otherLogs"`
	IMEX       IMEX                      `yaml:"imex"`
	NVML       NVML                      `yaml:"nvml"`
	DCGM       DCGM                      `yaml:"dcgm"`
	Contain    Contain                   `yaml:"contain"`
	Repair     Repair                    `yaml:"repair"`
	Serving    Serving                   `yaml:"serving"`
	Guards     Guards                    `yaml:"guards"`
	Kubernetes Kubernetes                `yaml:"kubernetes"`
	Slurm      Slurm                     `yaml:"slurm"`
	Exec       Exec                      `yaml:"exec"`
	State      State                     `yaml:"state"`
	Evidence   Evidence                  `yaml:"evidence"`
	HTTP       HTTP                      `yaml:"http"`
	Log        Log                       `yaml:"log"`
	// Actuator is who carries a plan out: kubernetes, slurm, exec, which is two
	// programs of the site, or log, which only writes what it would do.
	Actuator Actuator `yaml:"actuator"`
}

// KernelLog says where the kernel is heard.
type KernelLog struct {
	// Source is kmsg, journal, both, or auto: kmsg where it can be read.
	Source kernlog.Source `yaml:"source"`
	// Path is /dev/kmsg, or a file of records in its format.
	Path string `yaml:"path"`
	// BootIDPath is the file that holds the boot's id.
	BootIDPath string `yaml:"bootIDPath"`
	// AcceptUserspace believes records that user space wrote: for tests only.
	AcceptUserspace bool `yaml:"acceptUserspace"`
	// JournalPaths are directories of systemd journals, by preference. With none
	// nothing is read from a journal.
	JournalPaths []string `yaml:"journalPaths"`
	// Kata hears the consoles of Kata guests as kernels.
	Kata bool `yaml:"kata"`
}

// OtherLogs says which services of the driver are heard, through the journal.
type OtherLogs struct {
	FabricManager bool `yaml:"fabricManager"`
	IMEX          bool `yaml:"imex"`
	Persistenced  bool `yaml:"persistenced"`
}

// NVML says how the driver is asked.
type NVML struct {
	Enabled bool `yaml:"enabled"`
	// Period is the time between two polls, at least a second.
	Period Duration `yaml:"period"`
	// SlowPeriod is the time between two polls of what rarely changes, not
	// shorter than Period.
	SlowPeriod Duration `yaml:"slowPeriod"`
	// Deadline is how long one driver call may take, at least 100 ms.
	Deadline Duration `yaml:"deadline"`
	// Grace is how long after the start a driver that does not answer is no
	// fault yet: it may still be loading.
	Grace Duration `yaml:"grace"`
	// Slowdown is how long heat, the power brake or a narrow link must hold a
	// GPU down to be a fault; five polls at least.
	Slowdown Duration `yaml:"slowdown"`
	// Expect is how many GPUs the node must have; 0 does not say.
	Expect int `yaml:"expect"`
	// BusPath is where the PCI devices are listed; empty does not ask the bus.
	BusPath string `yaml:"busPath"`
	// LibraryPaths are folders in which libnvidia-ml.so.1 is looked for first.
	LibraryPaths []string `yaml:"libraryPaths"`
	// LinkSwitches is what the site calls the switch that an NVLink of each
	// number leads to.
	LinkSwitches LinkNames `yaml:"linkSwitches"`
	// LinkTrend says from when on an NVLink that gets worse is told.
	LinkTrend LinkTrend `yaml:"linkTrend"`
}

// DCGM says whether and how a DCGM engine is asked for a second opinion.
type DCGM struct {
	Enabled bool `yaml:"enabled"`
	// Address is an engine's host:port, or the path of its unix socket.
	Address string `yaml:"address"`
	// Embedded runs an engine in the child instead.
	Embedded bool `yaml:"embedded"`
	// Profiling watches SM activity too, and takes the counters from any other
	// profiler.
	Profiling bool `yaml:"profiling"`
	// Period is the time between two polls, at least a second; Deadline how long
	// one call may take.
	Period   Duration `yaml:"period"`
	Deadline Duration `yaml:"deadline"`
}

// Contain says when a contained node comes back.
type Contain struct {
	// CleanPolls is how many polls in a row must find a GPU in order.
	CleanPolls int `yaml:"cleanPolls"`
	// Probation is how long the node then still stays out of service.
	Probation Duration `yaml:"probation"`
	// Fence is what keeps new work off one GPU: auto or node.
	Fence Fence `yaml:"fence"`
	// RackSwitch is what a tray does for a switch of its rack: hold or cordon.
	RackSwitch RackSwitch `yaml:"rackSwitch"`
}

// Kubernetes says how the API server is reached.
type Kubernetes struct {
	// Kubeconfig is a file; empty means the pod's service account.
	Kubeconfig string `yaml:"kubeconfig"`
	// StartJitter spreads the watches of a fleet that starts at once. It delays
	// neither the kernel log nor a cordon.
	StartJitter Duration `yaml:"startJitter"`
	// KeepFromAutoscaler has Cluster Autoscaler and Karpenter told to let the Node
	// be while an incident holds it.
	KeepFromAutoscaler bool `yaml:"keepFromAutoscaler"`
}

// State says where the memory is.
type State struct {
	Path string `yaml:"path"`
}

// Evidence says how much of it is kept, in the folder evidence beside the state.
type Evidence struct {
	// Keep is how many incidents leave a bundle; 0 keeps none.
	Keep int `yaml:"keep"`
	// MaxBytes is how much all bundles take together, from 65536 on.
	MaxBytes int `yaml:"maxBytes"`
}

// HTTP says where the daemon answers.
type HTTP struct {
	// Listen is host:port; empty does not listen.
	Listen string `yaml:"listen"`
	// WebConfig is a Prometheus web configuration file (TLS, basic auth).
	WebConfig string `yaml:"webConfig"`
}

// URL is where a process of this host finds the daemon, as far as the configuration
// tells: empty where it answers nowhere, or the kernel chooses the port. With a
// WebConfig of TLS it is https instead.
func (h HTTP) URL() string {
	host, port, err := net.SplitHostPort(h.Listen)
	if err != nil || port == "0" {
		return ""
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	return "http://" + net.JoinHostPort(host, port)
}

// Log says how much is logged.
type Log struct {
	// Level is debug, info, warn or error.
	Level Level `yaml:"level"`
}

// Default is what an empty file means.
func Default() Config {
	return Config{
		Mode:  remediate.Contain,
		Modes: map[string]remediate.Mode{},
		KernelLog: KernelLog{Source: kernlog.Auto, Path: kernlog.DefaultPath, BootIDPath: kernlog.DefaultBootIDPath,
			JournalPaths: []string{"/var/log/journal", "/run/log/journal"}},
		OtherLogs:  OtherLogs{FabricManager: true, IMEX: true, Persistenced: true},
		IMEX:       defaultIMEX(),
		NVML:       NVML{Enabled: true, Period: Duration(5 * time.Second), SlowPeriod: Duration(time.Minute), Deadline: Duration(3 * time.Second), Grace: Duration(2 * time.Minute), Slowdown: Duration(fault.DefaultSlowdown), BusPath: pci.Root, LibraryPaths: driverRoots(), LinkSwitches: LinkNames{}, LinkTrend: defaultLinkTrend()},
		DCGM:       DCGM{Address: "localhost:5555", Period: Duration(10 * time.Second), Deadline: Duration(5 * time.Second)},
		Contain:    Contain{CleanPolls: 12, Probation: Duration(10 * time.Minute), Fence: FenceAuto, RackSwitch: RackHold},
		Repair:     defaultRepair(),
		Serving:    defaultServing(),
		Guards:     defaultGuards(),
		Kubernetes: Kubernetes{StartJitter: Duration(time.Minute)},
		Slurm:      defaultSlurm(),
		Exec:       defaultExec(),
		State:      State{Path: "/var/lib/gpuhealthd/state.db"},
		Evidence:   Evidence{Keep: 64, MaxBytes: 32 << 20},
		HTTP:       HTTP{Listen: ":9878"},
		Actuator:   ActuatorKubernetes,
	}
}

// driverRoots are where the driver's library is below the mount of deploy/driver-root.yaml.
func driverRoots() []string {
	return []string{"/driver-root/usr/lib/x86_64-linux-gnu", "/driver-root/usr/lib/aarch64-linux-gnu", "/driver-root/usr/lib64"}
}
