package remediate

import "time"

// Mode says how far the agent may go.
type Mode string

// The modes, each with all that the one before it may do.
const (
	// Observe: labels, conditions and events; the node stays in service.
	Observe Mode = "observe"
	// Contain: cordon and taint as well. What would repair is only requested.
	Contain Mode = "contain"
)

// Valid says whether m is one of the modes.
func (m Mode) Valid() bool { return m == Observe || m == Contain }

// Policy is what a site decides.
type Policy struct {
	Mode Mode
	// Probation is how long a node stays out of service once its fault is over.
	Probation time.Duration
	// KeepFromAutoscaler has autoscalers told to let a node be that is out of
	// service.
	KeepFromAutoscaler bool
}
