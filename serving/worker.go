package serving

import (
	"slices"
	"time"
)

// Role is what a worker does in disaggregated serving.
type Role string

// The roles.
const (
	// Prefill computes prompts, and keeps their KV cache until a decode worker has it.
	Prefill Role = "prefill"
	// Decode reads that cache and generates tokens.
	Decode Role = "decode"
)

// Other is the role that one works with.
func (r Role) Other() Role {
	if r == Prefill {
		return Decode
	}
	return Prefill
}

// Worker is one pod of a group of disaggregated serving.
type Worker struct {
	// Name is namespace/name.
	Name string `json:"name"`
	UID  string `json:"uid"`
	Role Role   `json:"role"`
	// Life tells one start of its engine from the next; empty while the engine does
	// not run.
	Life string `json:"life,omitempty"`
	// Unheard: its node says nothing of its containers at the moment, and Life is not known.
	Unheard bool `json:"unheard,omitempty"`
	// Unready: it is not ready yet, or no more, or about to end. One that has ended for
	// good, and that nobody will start again, is not.
	Unready bool `json:"unready,omitempty"`
	// Aside: it runs, and is in its group no more by its labels. It holds up no rollout.
	Aside bool `json:"aside,omitempty"`

	// The rest is known of the workers of this node alone.

	// GPUs are UUIDs.
	GPUs []string `json:"gpus,omitempty"`
	// Lease is how long it keeps the KV cache of a request for a decode worker that is
	// not heard of any more; of a prefill worker.
	Lease time.Duration `json:"lease,omitempty"`
	// OnFailure is what its engine does where a KV cache cannot be read: fail or
	// recompute; empty where that is not known.
	OnFailure string `json:"onFailure,omitempty"`
	// Marked is what its pod says already of a peer that was lost, and Degraded that it
	// says that it is for that.
	Marked   string `json:"marked,omitempty"`
	Degraded bool   `json:"degraded,omitempty"`
}

// ID is what the worker is known by.
func (w Worker) ID() ID { return ID{w.Name, w.UID} }

// Group is one group of disaggregated serving that this node takes part in.
type Group struct {
	// Name is the namespace and what the group's label says.
	Name string `json:"name"`
	// Here are the workers of this node.
	Here []Worker `json:"here"`
	// Peers are all workers of a role in the whole group, those of this node too. A
	// role that is not in it is not known.
	Peers map[Role][]Worker `json:"peers"`
}

// Company is what is known of disaggregated serving on a node at a moment.
type Company struct {
	// Groups are those that it takes part in. Off says that nobody follows any.
	Groups []Group
	Off    bool
	// Strays are pods of the node that are in no group, and say what one that was left
	// by a peer says. Nothing else is known of them but name and UID.
	Strays []Worker
}

// Here are all of the node.
func (c Company) Here() []Worker {
	all := slices.Clone(c.Strays)
	for _, g := range c.Groups {
		all = append(all, g.Here...)
	}
	return all
}
