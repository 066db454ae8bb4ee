package remediate

import (
	"slices"
	"time"

	"github.com/gpuhealthd/gpuhealthd/fault"
)

// Check is what a diagnosis says of a GPU.
type Check string

// The checks, in the order in which they outrank each other.
const (
	CheckPassed Check = "pass"
	// CheckNotRun: no hardware was tested. It says nothing of the GPU.
	CheckNotRun Check = "not-run"
	// CheckAborted: called off. It says nothing of the GPU either.
	CheckAborted Check = "aborted"
	// CheckDoubtful: it ran, and proves neither.
	CheckDoubtful Check = "doubtful"
	CheckFailed   Check = "fail"
)

// rank orders the checks by strength.
func (c Check) rank() int {
	return slices.Index([]Check{CheckPassed, CheckNotRun, CheckAborted, CheckDoubtful, CheckFailed}, c)
}

// Checked is the answer for one GPU.
type Checked struct {
	// GPU is a UUID.
	GPU   string `json:"gpu"`
	Check Check  `json:"check"`
	// Hint is the strongest action that its errors ask for.
	Hint fault.Action `json:"hint,omitempty"`
	// Why says why it is not pass.
	Why string `json:"why,omitempty"`
}

// Unproven says what becomes of a GPU of which no diagnosis can say that it is in
// order.
type Unproven string

// What may become of it.
const (
	// DiagHold: it stays out of service until a person decides.
	DiagHold Unproven = "hold"
	// DiagAccept: that the driver finds nothing is enough.
	DiagAccept Unproven = "accept"
)

// DiagPolicy is how GPUs are diagnosed.
type DiagPolicy struct {
	// Mode is MeansOff or MeansCommand.
	Mode Means
	// Level is the least, where any is run: 2 or 3.
	Level int
	// Level2 and Level3 are the deadlines of those levels, all that is waited for
	// included.
	Level2, Level3 time.Duration
	Unproven       Unproven
	Schedule       Schedule
}

// deadline is that of a level.
func (d DiagPolicy) deadline(level int) time.Duration {
	if level >= 3 {
		return d.Level3
	}
	return d.Level2
}
