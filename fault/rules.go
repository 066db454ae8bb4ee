package fault

import (
	"fmt"
	"slices"
	"time"
)

// Rule is what the agent does about a class of fault, before the text, the
// arbiter and other episodes refine it.
type Rule struct {
	Class  Class
	Title  string
	Hard   bool
	Radius Radius
	Action Action
	// Later waits for an idle window.
	Later Action
	Drain Drain
	Diag  int
	Cure  Cure
	// Quiet belongs to CureQuiet, CureCalm, CureSteady and CureAnew.
	Quiet time.Duration
	// Hardware is false where only a program is to blame.
	Hardware bool
	// Floor: the arbiter may raise the action, never lower it.
	Floor bool
	// EchoOf lists the classes on the same GPU that this one is a symptom of.
	EchoOf []Class
	// EchoAnywhere lists such classes on any GPU of the node.
	EchoAnywhere []Class
	// Lags: it is seen long after its root, which need only be open still.
	Lags bool
	// known is false for a code that no catalogue has.
	known bool
}

const (
	day = 24 * time.Hour
	// appQuiet ends the episode of a program's own fault.
	appQuiet = time.Hour
	// steadyFor is how long links and fabric must be good again.
	steadyFor = 10 * time.Minute
	// staleFor is for how long a decode worker was seen to go on with a dead prefill
	// worker, at most.
	staleFor = time.Hour
	// slowdownQuiet ends a slowdown, where the site has not chosen its window.
	slowdownQuiet = goneWindows * DefaultSlowdown
)

var rules = []Rule{
	{Class: XID79, Title: "GPU has fallen off the bus", Hard: true, Hardware: true, Floor: true,
		Radius: Node, Action: Reboot, Drain: DrainNow, Diag: 3, Cure: CureAnswers, EchoOf: []Class{GPULost}},
	{Class: GPULost, Title: "the driver has lost the GPU", Hard: true, Hardware: true, Floor: true,
		Radius: Node, Action: Reboot, Drain: DrainNow, Diag: 3, Cure: CureAnswers, EchoOf: []Class{XID79}},
	{Class: XID64, Title: "row remapping failed", Hard: true, Hardware: true, Floor: true,
		Radius: GPU, Action: Reset, Drain: DrainNow, Diag: 3, Cure: CurePerson, EchoOf: []Class{RemapFailed}},
	{Class: RemapFailed, Title: "the row remapper reports a failure", Hard: true, Hardware: true, Floor: true,
		Radius: GPU, Action: Reset, Drain: DrainNow, Diag: 3, Cure: CurePerson, EchoOf: []Class{XID64}},
	{Class: XID119, Title: "GSP RPC timeout", Hard: true, Hardware: true,
		Radius: GPU, Action: Reset, Drain: DrainNow, Diag: 2, Cure: CureAnswersOrReset, EchoOf: []Class{XID79, GPULost}},
	{Class: XID120, Title: "GSP error", Hard: true, Hardware: true,
		Radius: GPU, Action: Reset, Drain: DrainNow, Diag: 2, Cure: CureAnswersOrReset, EchoOf: []Class{XID119, XID79, GPULost}},
	{Class: GSPTimeout, Title: "GSP does not answer", Hard: true, Hardware: true,
		Radius: GPU, Action: Reset, Drain: DrainNow, Diag: 2, Cure: CureAnswersOrReset, EchoOf: []Class{XID79, GPULost},
		EchoAnywhere: []Class{XID119, XID120}},
	{Class: XID95, Title: "uncontained memory error", Hard: true, Hardware: true,
		Radius: GPU, Action: Reset, Drain: DrainNow, Diag: 2, Cure: CureReset},
	{Class: XID48, Title: "double-bit memory error", Hard: true, Hardware: true,
		Radius: GPU, Action: Reset, Drain: DrainNow, Diag: 2, Cure: CureReset, EchoOf: []Class{XID64, XID95}},
	{Class: XID74, Title: "NVLink error", Hardware: true,
		Radius: GPU, Action: Reset, Drain: DrainWhenIdle, Diag: 2, Cure: CureReset, EchoOf: []Class{XID79, GPULost}},
	{Class: RecoveryAction, Title: "the driver asks for recovery", Hardware: true,
		Radius: GPU, Action: Hold, Drain: DrainNow, Diag: 2, Cure: CureReset},
	{Class: RemapPending, Title: "a row waits to be remapped", Hardware: true,
		Radius: GPU, Action: Record, Later: Reset, Drain: DrainWhenIdle, Diag: 2, Cure: CureRemapped,
		EchoOf: []Class{XID48, XID95, XID64}},
	{Class: XID94, Title: "contained memory error", Hardware: true,
		Radius: Process, Action: Record, Cure: CureQuiet, Quiet: day, EchoOf: []Class{XID48, XID95}},
	{Class: ECCStorm, Title: "corrected memory errors come in a storm", Hardware: true, Floor: true,
		Radius: GPU, Action: Cordon, Later: Diag, Drain: DrainWhenIdle, Diag: 3, Cure: CureCalm, Quiet: day},
	{Class: ECCUnreadable, Title: "the error counters answer with an error", Hardware: true,
		Radius: GPU, Action: Cordon, Later: Diag, Drain: DrainWhenIdle, Diag: 3, Cure: CureAnswers,
		EchoOf: []Class{XID79, GPULost, GPUFailed, XID119, XID48, XID95}},
	{Class: SRAMThreshold, Title: "the SRAM has had too many errors", Hardware: true, Floor: true,
		Radius: GPU, Action: Replace, Drain: DrainWhenIdle, Diag: 3, Cure: CurePerson},
	{Class: DiagFailed, Title: "the GPU has failed a diagnosis that was asked for or scheduled", Hardware: true,
		Radius: GPU, Action: Cordon, Later: Diag, Drain: DrainWhenIdle, Diag: 3, Cure: CurePerson},
	{Class: SparesLow, Title: "few spare rows are left in a memory bank", Hardware: true,
		Radius: GPU, Action: Record, Cure: CureQuiet, Quiet: day},
	{Class: Thermal, Title: "the GPU is too hot", Hardware: true,
		Radius: GPU, Action: Record, Cure: CureQuiet, Quiet: slowdownQuiet},
	{Class: PowerBrake, Title: "clocks held down by the power brake", Hardware: true,
		Radius: GPU, Action: Record, Cure: CureQuiet, Quiet: slowdownQuiet},
	{Class: PCIeDegraded, Title: "the PCIe link is worse than it should be", Hardware: true,
		Radius: GPU, Action: Record, Cure: CureQuiet, Quiet: slowdownQuiet},
	{Class: GPUFailed, Title: "the driver answers for the GPU with an error", Hardware: true,
		Radius: GPU, Action: Cordon, Later: Diag, Drain: DrainWhenIdle, Diag: 3, Cure: CureAnswers,
		EchoOf: []Class{XID79, GPULost, XID119, XID120, XID95, XID48, InitFailed, DriverHung}},
	{Class: GPUCountShort, Title: "a GPU is there and the driver does not list it", Hard: true, Hardware: true, Floor: true,
		Radius: Node, Action: Reboot, Drain: DrainNow, Diag: 3, Cure: CureAnswers, EchoOf: []Class{XID79, GPULost, InitFailed, XID119, XID120}},
	{Class: InitFailed, Title: "the driver could not initialise the GPU", Hardware: true,
		Radius: GPU, Action: Hold, Cure: CureAnswers, EchoOf: []Class{XID79, GPULost, XID119, XID120}},
	{Class: DriverHung, Title: "a driver call does not return", Hard: true, Hardware: true,
		Radius: GPU, Action: Reboot, Drain: DrainNow, Diag: 2, Cure: CureAnswers,
		EchoOf: []Class{XID119, XID120, XID79, GPULost, GSPTimeout}},
	{Class: DriverMismatch, Title: "driver and library versions differ", Hardware: true,
		Radius: Node, Action: Hold, Cure: CureAnswers},
	{Class: FabricManagerDead, Title: "the fabric manager does not run", Hardware: true,
		Radius: Baseboard, Action: Cordon, Drain: DrainWhenIdle, Diag: 2, Cure: CureManaged},
	{Class: IMEXDown, Title: "IMEX is out of order, and programs use the NVLink domain", Hardware: true,
		Radius: Node, Action: Hold, Cure: CureRuns},
	{Class: LinksDown, Title: "NVLinks are down", Hardware: true, Lags: true,
		Radius: GPU, Action: Cordon, Later: Diag, Drain: DrainWhenIdle, Diag: 2, Cure: CureSteady, Quiet: steadyFor,
		EchoOf: linkRoots, EchoAnywhere: []Class{FabricManagerDead}},
	{Class: FabricUnhealthy, Title: "the GPU is not in order in its NVLink fabric", Hardware: true, Lags: true,
		Radius: GPU, Action: Cordon, Later: Diag, Drain: DrainWhenIdle, Diag: 2, Cure: CureSteady, Quiet: steadyFor,
		EchoOf: append([]Class{LinksDown}, linkRoots...), EchoAnywhere: []Class{FabricManagerDead}},
	{Class: NVLinkDegrading, Title: "an NVLink fares worse than it should", Hardware: true,
		Radius: GPU, Action: Record, Cure: CureQuiet, Quiet: day},
	{Class: AgentBlind, Title: "no GPU can be asked", Hardware: true,
		Radius: Node, Action: Record, Cure: CureAnswers, EchoOf: []Class{DriverMismatch}},
	{Class: StalledEngine, Title: "a serving engine has requests open and computes nothing",
		Radius: Process, Action: Restart, Cure: CureProgress},
	{Class: StalledGPU, Title: "serving engines stall on the GPU", Hardware: true,
		Radius: GPU, Action: Diag, Drain: DrainNow, Diag: 2, Cure: CureProgress},
	{Class: WedgedJob, Title: "all GPUs of a job are busy and compute nothing",
		Radius: Process, Action: Record, Cure: CureProgress},
	{Class: SlowReplica, Title: "a serving engine is much slower than usual",
		Radius: Process, Action: Record, Cure: CureProgress},
	{Class: StalePeer, Title: "a decode worker may serve from a prefill worker that is gone",
		Radius: Process, Action: Record, Cure: CureAnew, Quiet: staleFor},
}

// linkRoots are what takes the links of a GPU down with it.
var linkRoots = []Class{XID79, GPULost, XID74, XIDClass(136), XIDClass(144), XIDClass(145), XIDClass(146), XIDClass(149), XIDClass(150), XID119, XID120, GPUFailed}

// Rules gives the classes with rules of their own, for documentation.
func Rules() []Rule { return slices.Clone(rules) }

// Over says in words what ends an episode.
func (r Rule) Over() string {
	if r.Quiet == 0 {
		return r.Cure.String()
	}
	n, unit := int(r.Quiet/time.Hour), "hour"
	if r.Quiet < time.Hour {
		n, unit = int(r.Quiet/time.Minute), "minute"
	}
	if n != 1 {
		unit += "s"
	}
	return fmt.Sprintf("%s for %d %s", r.Cure, n, unit)
}

// RuleFor gives the rule of any class: its own, its code's from the catalogue,
// or what is done about the unknown: hold for a person, follow the arbiter.
func RuleFor(c Class) Rule {
	for _, r := range rules {
		if r.Class == c {
			r.known = true
			return r
		}
	}
	if r, ok := catalogRule(c); ok {
		return r
	}
	return Rule{Class: c, Title: "a code that no catalogue has", Hardware: true,
		Radius: GPU, Action: Hold, Cure: CureQuiet, Quiet: day}
}
