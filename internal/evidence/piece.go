package evidence

import (
	"encoding/json"
	"time"

	"github.com/gpuhealthd/gpuhealthd/collector/nvml"
	"github.com/gpuhealthd/gpuhealthd/fault"
	"github.com/gpuhealthd/gpuhealthd/remediate"
)

// Kind says which part of a Piece is set.
type Kind string

// The kinds. An end has no part of its own.
const (
	KindNode        Kind = "node"
	KindLine        Kind = "line"
	KindSample      Kind = "sample"
	KindVerdict     Kind = "verdict"
	KindProgress    Kind = "progress"
	KindDeed        Kind = "deed"
	KindOutcome     Kind = "outcome"
	KindEvent       Kind = "event"
	KindDiag        Kind = "diag"
	KindReplacement Kind = "replacement"
	KindMissing     Kind = "missing"
	KindEnd         Kind = "end"
)

// bulk says whether there may be so many of a kind that they must not take the
// room of the others.
func (k Kind) bulk() bool { return k == KindLine || k == KindSample }

// Piece is one line of a bundle.
type Piece struct {
	Kind Kind `json:"kind"`
	// At is the agent's clock when it took the piece in.
	At       time.Time          `json:"at"`
	Node     *Node              `json:"node,omitempty"`
	Line     *Line              `json:"line,omitempty"`
	Sample   *Sample            `json:"sample,omitempty"`
	Verdict  *fault.Verdict     `json:"verdict,omitempty"`
	Progress *Progress          `json:"progress,omitempty"`
	Deed     *remediate.Deed    `json:"deed,omitempty"`
	Outcome  *remediate.Outcome `json:"outcome,omitempty"`
	Event    *remediate.Event   `json:"event,omitempty"`
	Replace  *Replacement       `json:"replacement,omitempty"`
	Missing  *Missing           `json:"missing,omitempty"`
	Diag     json.RawMessage    `json:"diag,omitempty"` // as the diagnosis gave it
}

// Node is what the node was when the incident opened, or when an agent took it up
// again after a restart.
type Node struct {
	// Agent is the version of gpuhealthd, Name the Node's; Boot is the boot's id.
	Agent string `json:"agent"`
	Name  string `json:"name,omitempty"`
	Boot  string `json:"boot"`
	// Driver is its version; empty while it has not answered.
	Driver string `json:"driver,omitempty"`
	// GPUs are all that ever answered.
	GPUs []GPU `json:"gpus"`
}

// GPU is a board and where it sits.
type GPU struct {
	nvml.Identity
	// Slot is the physical slot by the firmware's tables; empty where they name
	// none, as for most boards on a baseboard.
	Slot string `json:"slot,omitempty"`
}

// Line is one record of the kernel log. Bytes that are no UTF-8 are replaced.
type Line struct {
	// Boot and Sequence are the record's place; Micros is the kernel's clock.
	Boot     string `json:"boot"`
	Sequence uint64 `json:"seq"`
	Micros   uint64 `json:"micros"`
	// Lost counts the records that were lost right before this one.
	Lost uint64 `json:"lost,omitempty"`
	// Backlog, Late and Userspace are as in kernlog.Record.
	Backlog   bool   `json:"backlog,omitempty"`
	Late      bool   `json:"late,omitempty"`
	Userspace bool   `json:"userspace,omitempty"`
	Text      string `json:"text"`
}

// Sample is one poll, of the incident's GPUs, or of all where it names none.
type Sample struct {
	// Trouble is why there is no answer; empty when there is one.
	Trouble string     `json:"trouble,omitempty"`
	GPUs    []nvml.GPU `json:"gpus,omitempty"`
}

// Progress is how far the plan is with an incident.
type Progress struct {
	State     remediate.NodeState `json:"state"`
	Claimed   bool                `json:"claimed,omitempty"`
	Contained bool                `json:"contained,omitempty"`
	Released  bool                `json:"released,omitempty"`
	Adopted   bool                `json:"adopted,omitempty"`
	Steps     []remediate.Step    `json:"steps,omitempty"`
	Ended     time.Time           `json:"ended,omitzero"`
}

// ProgressOf takes the progress out of an incident.
func ProgressOf(i remediate.Incident) Progress {
	return Progress{State: i.State, Claimed: i.Claimed, Contained: i.Contained, Released: i.Released, Adopted: i.Adopted,
		Steps: i.Steps, Ended: i.Ended}
}

// Replacement asks a person for another part.
type Replacement struct {
	Incident string `json:"incident"`
	GPUs     []GPU  `json:"gpus"`
	Reason   string `json:"reason"`
	// Tried are the repairs that have not helped, the oldest first.
	Tried []remediate.Attempt `json:"tried,omitempty"`
	// Failure is the tests that the part has failed, with their errors; empty where it
	// has failed none.
	Failure string `json:"failure,omitempty"`
	// Bundle is the file with the evidence; empty where none is kept.
	Bundle string `json:"bundle,omitempty"`
}

// Missing says that something which belongs into the bundle is not there.
type Missing struct {
	// Pieces is how many; 0 is not known.
	Pieces int    `json:"pieces,omitempty"`
	Why    string `json:"why"`
}
