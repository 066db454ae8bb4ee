package remediate

import (
	"time"

	"github.com/gpuhealthd/gpuhealthd/remediate/guard"
)

// The public keys on the Node object.
const (
	Prefix          = "gpuhealthd.io/"
	LabelState      = Prefix + "state"
	LabelFault      = Prefix + "fault"
	LabelRadius     = Prefix + "radius"
	LabelGPUs       = Prefix + "gpus-healthy"
	LabelDomain     = Prefix + "nvlink-domain"
	LabelDiag       = Prefix + "diag"
	LabelDiagnosing = Prefix + "diagnosing"
	DiagAnnotation  = Prefix + "diag-time"
	AskAnnotation   = Prefix + "diag-request"
	TaintQuarantine = Prefix + "quarantine"
	NoteAnnotation  = Prefix + "incident"
	// SinceAnnotation is when the fault of LabelFault was seen first, in RFC 3339.
	SinceAnnotation = Prefix + "fault-since"
	// SummaryAnnotation is what the node tells its NVLink domain of its links.
	SummaryAnnotation = Prefix + "nvlink"
	// StrandedAnnotation is how many GPUs' worth of prefill workers keeps KV cache for
	// decode workers that are gone.
	StrandedAnnotation = Prefix + "stranded"
	ConditionGPU       = "GPUHealthy"
	ConditionNVLink    = "NVLinkHealthy"
)

// NodeState is the value of the state label.
type NodeState string

// The states a node can be in, by the public contract.
const (
	Healthy     NodeState = "healthy"
	Suspect     NodeState = "suspect"
	Quarantined NodeState = "quarantined"
	Draining    NodeState = "draining"
	Repairing   NodeState = "repairing"
	Probation   NodeState = "probation"
	Failed      NodeState = "failed"
)

// Owner says whose the cordon is.
type Owner string

// The two owners. A node that was cordoned before its incident opened is the
// administrator's, and stays cordoned when the incident ends.
const (
	OwnerAgent         Owner = "gpuhealthd"
	OwnerAdministrator Owner = "administrator"
)

// Note is the incident annotation: the mark that a cordon is claimed.
type Note struct {
	ID     string    `json:"id"`
	Opened time.Time `json:"opened"`
	Fault  string    `json:"fault"`
	GPUs   []string  `json:"gpus"`
	Radius string    `json:"radius"`
	Action string    `json:"action"`
	Step   string    `json:"step"`
	// Since is when the node came into the state that its label shows, where that is
	// kept; Until is when a probation is over that nothing comes in between.
	Since time.Time `json:"since,omitzero"`
	Until time.Time `json:"until,omitzero"`
	Owner Owner     `json:"owner,omitempty"`
	// Kept are the autoscalers' annotations that were set with this mark, and go
	// with it.
	Kept []string `json:"kept,omitempty"`
	// Leave: the node is out of service, or repaired, by its group's leave, and
	// counts against the budget.
	Leave bool `json:"leave,omitempty"`
	// Fence is FenceDevice while the GPUs alone are kept from new work: a cordon that
	// then stands is somebody else's.
	Fence string `json:"fence,omitempty"`
}

// Condition is one node condition of ours.
type Condition struct {
	// Status is True, False or Unknown, as in the API.
	Status string `json:"status"`
	// Reason is stable while the cause is, in CamelCase as the API wants it.
	Reason  string `json:"reason"`
	Message string `json:"message"`
}

// Desired is all that the Node object shall say. It is a level, not an edge.
type Desired struct {
	// Look asks for no write: what the Node says is not known yet, and may hold
	// a mark of ours that this agent has no memory of.
	Look  bool      `json:"look,omitempty"`
	State NodeState `json:"state"`
	// Fault and Radius are empty when there is nothing to say.
	Fault  string `json:"fault,omitempty"`
	Radius string `json:"radius,omitempty"`
	// Since is when that fault was seen first, in RFC 3339.
	Since string `json:"since,omitempty"`
	// GPUsHealthy is a count; nil while it is not known.
	GPUsHealthy *int `json:"gpusHealthy,omitempty"`
	// Domain is the hash of an NVL72 domain and clique; empty elsewhere.
	Domain string `json:"domain,omitempty"`
	// Summary is what the node tells its NVLink domain; empty while its links are in
	// order, and where it is in none.
	Summary string `json:"summary,omitempty"`
	// Stranded is what of the GPUs does nothing for its prefill workers, such as 1.50;
	// empty for nothing.
	Stranded string `json:"stranded,omitempty"`
	// Diag is what the last diagnosis said, the worst of the GPUs: pass-2, fail-3,
	// doubtful-2; DiagAt is when, in RFC 3339. Empty where none has said anything.
	Diag   string `json:"diag,omitempty"`
	DiagAt string `json:"diagAt,omitempty"`
	// Diagnosing is the level of the diagnosis that runs, or that the group has given
	// leave for; empty for none.
	Diagnosing string `json:"diagnosing,omitempty"`
	// Taken is the annotation that asked for a diagnosis and was heard: it is
	// removed.
	Taken string `json:"taken,omitempty"`
	// Quarantine asks for cordon, taint and mark.
	Quarantine bool `json:"quarantine"`
	// Keep asks autoscalers to let the node be while it is quarantined.
	Keep bool `json:"keep,omitempty"`
	// Note is the mark to set while an incident is claimed.
	Note   *Note     `json:"note,omitempty"`
	GPU    Condition `json:"gpu"`
	NVLink Condition `json:"nvlink"`
	// Unseen are the incidents that hold the node and have not seen it contained
	// yet. Nothing is written for them; a wish that differs in them alone has to be
	// carried out all the same, since that is how they see it.
	Unseen []string `json:"-"`
}

// Observed is what the Node object says of us.
type Observed struct {
	// Exists is false when there is no such Node.
	Exists        bool   `json:"exists"`
	UID           string `json:"uid,omitempty"`
	Unschedulable bool   `json:"unschedulable"`
	Tainted       bool   `json:"tainted"`
	Note          *Note  `json:"note,omitempty"`
	// Kept are the autoscalers' annotations that stand there, whoever set them.
	Kept map[string]string `json:"kept,omitempty"`
	// Asks is the annotation that asks for a diagnosis, DiagAt that of the last one.
	Asks   string `json:"asks,omitempty"`
	DiagAt string `json:"diagAt,omitempty"`
	// Diagnosing is the label that says so, empty for none.
	Diagnosing string `json:"diagnosing,omitempty"`
	// Offered is what the device plugin makes of the node's GPUs.
	Offered Offered `json:"offered,omitzero"`
	// InHand is who has the node in hand, beside us; the zero value is nobody.
	InHand guard.InHand `json:"inHand,omitzero"`
}

// Offered counts the GPUs that a Node offers to pods, as the resource
// nvidia.com/gpu; both are 0 where no device plugin has registered. That fewer
// are allocatable than there are is the plugin's policy. It is shown, and nothing
// is decided by it.
type Offered struct {
	Capacity    int64 `json:"capacity"`
	Allocatable int64 `json:"allocatable"`
}

// closed says whether the Node shows cordon, taint and mark.
func (o Observed) closed() bool { return o.Unschedulable && o.Note != nil && o.Tainted }

// ours says whether a cordon that stands under this mark is the agent's.
func (n *Note) ours() bool { return n != nil && n.Owner == OwnerAgent && n.Fence == "" }

// Claim decides what a write may do to the cordon, given what the Node says
// now. It is the one place where ownership is settled.
func Claim(want Desired, have Observed) (cordon bool, owner Owner, released bool) {
	switch {
	case !want.Quarantine || want.Note == nil:
		return have.Unschedulable && !have.Note.ours(), "", false
	case have.Note != nil && have.Note.Fence == "" && !have.Unschedulable && have.Note.ID == want.Note.ID:
		return false, have.Note.Owner, true
	case want.Note.Fence != "" && (!have.Unschedulable || have.Note.ours()):
		return false, OwnerAgent, false
	case !have.Unschedulable || have.Note.ours():
		return true, OwnerAgent, false
	}
	return true, OwnerAdministrator, false
}

// Event is one thing to tell in the API's events, once.
type Event struct {
	// Key makes the event's name: the same key is the same event.
	Key string `json:"key"`
	// Shared names what the event is about where that is more than the node: of
	// several agents that tell it, with the same key, one is heard.
	Shared string `json:"shared,omitempty"`
	// Type is Normal or Warning.
	Type    string    `json:"type"`
	Reason  string    `json:"reason"`
	Message string    `json:"message"`
	At      time.Time `json:"at"`
}
