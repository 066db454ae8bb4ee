package remediate

import (
	"time"

	"github.com/gpuhealthd/gpuhealthd/fault"
	"github.com/gpuhealthd/gpuhealthd/remediate/guard"
)

// Mode says how far the agent may go.
type Mode string

// The modes, each with all that the one before it may do.
const (
	// Observe: labels, conditions and events; the node stays in service.
	Observe Mode = "observe"
	// Contain: cordon and taint as well. What would repair is only requested.
	Contain Mode = "contain"
	// Repair: drain, reset and reboot as well, each as far as its own mode says.
	Repair Mode = "repair"
)

// Valid says whether m is one of the modes.
func (m Mode) Valid() bool { return m == Observe || m == Contain || m == Repair }

// Means says who does one thing to the node, and how.
type Means string

// The means. Not every deed knows all of them.
const (
	// MeansOff: not the agent; it asks for it, as in mode contain.
	MeansOff Means = "off"
	// MeansPods: a drain, or a restart, by the API's evictions.
	MeansPods Means = "pods"
	// MeansSlurm: Slurm lets the jobs of a drained node end, and reboots it.
	MeansSlurm Means = "slurm"
	// MeansCommand: a program of the host. What it has begun is never begun again.
	MeansCommand Means = "command"
	// MeansAnnotation and MeansResource: somebody else, asked in the API. To ask
	// twice is as to ask once.
	MeansAnnotation Means = "annotation"
	MeansResource   Means = "resource"
)

// resumable says whether an agent may go on with what another has begun.
func (m Means) resumable() bool { return m == MeansAnnotation || m == MeansResource }

// ours says whether the agent sees to it.
func (m Means) ours() bool { return m != MeansOff && m != "" }

// AtDeadline says what becomes of a drain whose time is over.
type AtDeadline string

// What may become of it.
const (
	// Wait: it is told, and tried again after as long a time.
	Wait AtDeadline = "wait"
	// Force: what could not be evicted is deleted, and a reboot waits for nobody
	// once that has had its time too.
	Force AtDeadline = "force"
)

// OnHolders says what becomes of a reset while somebody holds the GPU who does
// not go.
type OnHolders string

// What may become of it.
const (
	// HolderReboot: no reset; the host is rebooted.
	HolderReboot OnHolders = "reboot"
	// HolderHold: the reset waits until they are gone.
	HolderHold OnHolders = "hold"
)

// Policy is what a site decides.
type Policy struct {
	Mode Mode
	// Modes hold for their class of fault in the place of Mode.
	Modes map[fault.Class]Mode
	// Guards hold what would do more harm than the fault; nil holds nothing.
	Guards *guard.Rules
	// Probation is how long a node stays out of service once its fault is over.
	Probation time.Duration
	// Fence has a GPU fenced by itself where that is enough, and the cluster can.
	Fence bool
	// Replicas is how long a node that has served its probation waits for its replicas
	// to prove that they serve; 0 waits for none.
	Replicas time.Duration
	// KeepFromAutoscaler has autoscalers told to let a node be that is out of
	// service.
	KeepFromAutoscaler bool
	// The rest is for mode repair alone.
	Drain   DrainPolicy
	Restart RestartPolicy
	Reset   ResetPolicy
	Reboot  RebootPolicy
	Diag    DiagPolicy
	// Settle is how long after a repair the fault may take to be seen over.
	Settle time.Duration
	// Memory is how long a repair of a GPU counts against the next one.
	Memory time.Duration
	// Unreachable is how long a hard fault waits for its cordon to be seen, before
	// it goes on without, and how long a node may be claimed for an idle window
	// that is not seen to be one.
	Unreachable time.Duration
	// Remind is how long what waits for others, or for a person, goes untold.
	Remind time.Duration
}

// DrainPolicy is how the work on a GPU is made to leave.
type DrainPolicy struct {
	// Mode is MeansOff, MeansPods, MeansSlurm or MeansCommand.
	Mode       Means
	Deadline   time.Duration
	AtDeadline AtDeadline
}

// RestartPolicy is how a replica is restarted whose engine has stalled.
type RestartPolicy struct {
	// Mode is MeansOff or MeansPods.
	Mode     Means
	Deadline time.Duration
}

// ResetPolicy is how GPUs are reset.
type ResetPolicy struct {
	// Mode is MeansOff, MeansCommand, MeansAnnotation or MeansResource.
	Mode      Means
	Deadline  time.Duration
	OnHolders OnHolders
}

// RebootPolicy is how the host is rebooted.
type RebootPolicy struct {
	// Mode is MeansOff, MeansCommand, MeansSlurm, MeansAnnotation or MeansResource.
	Mode Means
	// Deadline is how long the new boot may take to be seen.
	Deadline time.Duration
}

// DefaultRepair is what holds in mode repair where a site says nothing: pods are
// evicted, and whoever resets or reboots has to be named first.
func DefaultRepair() Policy {
	return Policy{
		Mode:        Repair,
		Probation:   10 * time.Minute,
		Drain:       DrainPolicy{Mode: MeansPods, Deadline: 30 * time.Minute, AtDeadline: Wait},
		Restart:     RestartPolicy{Mode: MeansPods, Deadline: 10 * time.Minute},
		Reset:       ResetPolicy{Mode: MeansOff, Deadline: 10 * time.Minute, OnHolders: HolderHold},
		Reboot:      RebootPolicy{Mode: MeansOff, Deadline: 30 * time.Minute},
		Diag:        DiagPolicy{Mode: MeansOff, Level: 2, Level2: 30 * time.Minute, Level3: time.Hour, Unproven: DiagHold},
		Settle:      10 * time.Minute,
		Memory:      7 * 24 * time.Hour,
		Unreachable: 5 * time.Minute,
		Remind:      24 * time.Hour,
	}
}
