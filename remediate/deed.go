package remediate

import (
	"context"
	"encoding/json"
	"time"

	"github.com/gpuhealthd/gpuhealthd/fault"
)

// Deed is one thing that the agent itself does to pods, GPUs or the host. At
// most one is under way on a node. It is on disk before it is begun and marked
// after it, so an agent that comes back knows what it may have left half done.
type Deed struct {
	// ID names the deed to others, and is the same over restarts: it makes the
	// name of what is created for it.
	ID string `json:"id"`
	// Kind is StepDrain, StepRestart, StepReset, StepReboot or StepDiag.
	Kind StepKind `json:"kind"`
	// GPUs are those that it is for, sorted by address.
	GPUs []fault.Device `json:"gpus"`
	// Whole: a drain of every pod on the node that a reboot would end, not only of
	// those on GPUs.
	Whole bool `json:"whole,omitempty"`
	// Force: a drain whose deadline has passed, and whose policy then deletes what
	// could not be evicted.
	Force bool `json:"force,omitempty"`
	// Workloads are the pods of a restart, and no others.
	Workloads []fault.Workload `json:"workloads,omitempty"`
	// Level is that of a diagnosis.
	Level int `json:"level,omitempty"`
	// Incidents are those that it serves; Fault is the worst of them.
	Incidents []string    `json:"incidents"`
	Fault     fault.Class `json:"fault"`
	Reason    string      `json:"reason"`
	// Began is when it was decided, Deadline when it counts as failed.
	Began    time.Time `json:"began"`
	Deadline time.Time `json:"deadline"`
	// BootID is the boot in which it began.
	BootID string `json:"bootID"`
	// Resumable: doing it twice is as doing it once, so another agent goes on with
	// it. What is not, and was begun by an agent that died, is never done again.
	Resumable bool `json:"resumable,omitempty"`
	// Undo is what has to be put back, one thing each, in the words of who does the
	// deed. It is on disk before the thing is changed.
	Undo []string `json:"undo,omitempty"`
	// Undoing: the deed itself is over, or nobody knows whether it was done; only
	// what is in Undo is still owed.
	Undoing bool `json:"undoing,omitempty"`
}

// Result is how a deed ended.
type Result string

// The results.
const (
	// Succeeded: done, as far as whoever did it can see.
	Succeeded Result = "succeeded"
	// Unsuccessful: tried, and the tool or its deadline says no.
	Unsuccessful Result = "failed"
	// Refused: not tried, because somebody still holds a GPU.
	Refused Result = "refused"
	// Unavailable: there is nobody who could do it.
	Unavailable Result = "unavailable"
	// Undecided: begun by an agent that died; nobody knows.
	Undecided Result = "undecided"
	// Aborted: called off before it was done.
	Aborted Result = "aborted"
)

// Owe writes down what a deed will have to put back. It returns nil once that is
// on disk; before, nothing may be changed.
type Owe func(ctx context.Context, undo string) error

// Outcome is the end of a deed.
type Outcome struct {
	Deed   string `json:"deed"`
	Result Result `json:"result"`
	// Text says why, in words for a person.
	Text string `json:"text,omitempty"`
	// Owed is what is still to be put back.
	Owed []string `json:"owed,omitempty"`
	// Checked is what a diagnosis says of each GPU, Report all that it says, for a
	// person; the plan does not read that.
	Checked []Checked       `json:"checked,omitempty"`
	Report  json.RawMessage `json:"report,omitempty"`
	// Holders are those in the way of a reset.
	Holders []Holder `json:"holders,omitempty"`
}

// Holder is a process that has a GPU open, or a pod that a GPU is given to.
type Holder struct {
	// GPU is a UUID. That of a MIG instance is given as its GPU's.
	GPU string `json:"gpu"`
	// PID and Process are 0 and empty for a pod of which no process is known.
	PID     int    `json:"pid,omitempty"`
	Process string `json:"process,omitempty"`
	// Pod is namespace/name, empty for a process outside any pod, or one whose pod
	// is not known.
	Pod string `json:"pod,omitempty"`
	// Stuck: the process was killed and cannot end, since a thread of it waits in
	// the kernel. A reset would wait as well; only a reboot ends it.
	Stuck bool `json:"stuck,omitempty"`
	// Service: it is no work, and nobody has to make it leave. It may be in the way of
	// a reset all the same.
	Service bool `json:"service,omitempty"`
}

// Occupancy is who holds which GPU, as far as can be known.
type Occupancy struct {
	At time.Time `json:"at"`
	// Unknown is why it cannot be told; empty when it can. Unknown is never free.
	Unknown string   `json:"unknown,omitempty"`
	Holders []Holder `json:"holders"`
}
