package guard

import (
	"time"

	"github.com/gpuhealthd/gpuhealthd/fault"
)

// Action is what a guard can hold, by the names of the plan's steps.
type Action string

// The actions. The last are no steps of a plan: Release is that a node which has served
// its probation goes back to service, Request that others are asked to drain, reset or
// diagnose, and Scheduled a diagnosis by the clock.
const (
	Cordon  Action = "cordon"
	Drain   Action = "drain"
	Restart Action = "restart"
	Diag    Action = "diag"
	Reset   Action = "reset"
	Reboot  Action = "reboot"
	Release Action = "release"
	Request Action = "request"

	Scheduled Action = "scheduled-diag"
)

// TakesOut says whether a node is out of service for an action, or was before, and needs
// the leave of its group.
func (a Action) TakesOut() bool {
	return a != Release && a != Scheduled && a != Restart && a != Request
}

// Guard names who holds an action.
type Guard string

// The guards.
const (
	// Budget: as many nodes of the group are out as may be.
	Budget Guard = "budget"
	// Outbreak: a fault that comes with a rollout is on many nodes at once.
	Outbreak Guard = "outbreak"
	// Capacity: the nodes that are left could not carry the load.
	Capacity Guard = "capacity"
	// Quiet: somebody else has the node in hand.
	Quiet Guard = "quiet"
	// Rate: this node has done the same too often lately.
	Rate Guard = "rate"
	// Ramp: others of the group have just gone back to service.
	Ramp Guard = "ramp"
	// Schedule: as many nodes of the group are diagnosed as may be.
	Schedule Guard = "schedule"
	// Power: as many nodes of the rack are diagnosed as its power allows.
	Power Guard = "power"
)

// Kind is one of the reasons that a guard may have, in a word that stays the same while
// the figures change.
type Kind string

// The kinds.
const (
	// NoAnswer: the group cannot be asked. InTurn: another node is just given leave, or
	// another worker restarted, and Unready: it is not in service yet.
	NoAnswer Kind = "no-answer"
	Unready  Kind = "unready"
	InTurn   Kind = "in-turn"
	// Full: as many are as may be.
	Full Kind = "full"
	// Young: the fault is younger than Rules.Wait. Rollout: many nodes caught it within
	// Rules.Window.
	Young   Kind = "young"
	Rollout Kind = "rollout"
	// Unknown: what decides is not known.
	Unknown Kind = "unknown"
	// Few: fewer nodes would serve than have to. Loaded: they would carry too much.
	Few    Kind = "few"
	Loaded Kind = "loaded"
	// Late: the queue is older than its objective.
	Late Kind = "late"
	// Maintenance, Upgrade, Paused and Closed are what somebody does with the node.
	Maintenance Kind = "maintenance"
	Upgrade     Kind = "upgrade"
	Paused      Kind = "paused"
	Closed      Kind = "closed"
)

// Hold is one guard's no, for the moment.
type Hold struct {
	Guard Guard `json:"guard"`
	// Kind is which of the guard's reasons it is; empty where it has one alone.
	Kind Kind `json:"kind,omitempty"`
	// Why is in words for a person, as is Until, which says what would end it.
	Why   string `json:"why"`
	Until string `json:"until"`
}

// Ask is one thing that a node wants to do.
type Ask struct {
	Incident string      `json:"incident"`
	Class    fault.Class `json:"fault"`
	Action   Action      `json:"action"`
	// Workload is who takes turns with others of its serving group; the zero value is
	// nobody.
	Workload fault.Workload `json:"workload,omitzero"`
	// Hard: the node is out of service for it by right, and counts.
	Hard bool `json:"hard,omitempty"`
	// Out: the node is out of service already.
	Out bool `json:"out,omitempty"`
	// Since is when it was wanted first.
	Since time.Time `json:"since"`
}

// Same says whether two asks are for one thing.
func (a Ask) Same(b Ask) bool { return a.Incident == b.Incident && a.Action == b.Action }

// Facts are what is known of a node's group at one moment.
type Facts struct {
	At time.Time
	// Group names the group in words: cluster, or label=value.
	Group string
	// Nodes counts the group's nodes that an agent speaks for, this one included.
	Nodes int
	// Peers are the other nodes of the group that are out of service, or show a
	// fault that comes with rollouts.
	Peers []Peer
	// Busy names the other nodes of the group that are diagnosed. It and Rack are for
	// a diagnosis by the clock, and are found for that alone.
	Busy []string
	Rack Rack
	// Leave: this node has the group's leave already, and is counted.
	Leave bool
	// Cleared is until when a person has cleared outbreaks, Clear the command to do so;
	// empty where nobody knows one.
	Cleared time.Time
	Clear   string
	// Load is nil where no contract says what the group can carry.
	Load *Load
}

// Peer is another node of the group, as its labels and mark say.
type Peer struct {
	Node  string
	Fault fault.Class
	// Out: its state label says that it is out of service.
	Out bool
	// Leave: its mark says that it is out, or repaired, by the group's leave.
	Leave bool
	// Since is when its fault was seen first, by its own clock; zero where that is not
	// known.
	Since time.Time
}

// Share is a number of nodes: at least so many, or a percentage of the group, in
// whole nodes rounded down, where that is more.
type Share struct {
	Least   int
	Percent int
}

// Of gives the number for a group of n nodes.
func (s Share) Of(n int) int { return max(s.Least, n*s.Percent/100) }

// Rules are what a site decides.
type Rules struct {
	// Fleet: there is a group to be asked. Without it Quiet and Rate hold alone.
	Fleet bool
	// Budget is how many nodes of a group may be out by leave.
	Budget Share
	// Outbreak is how many nodes make one, that come within Window.
	Outbreak Share
	Window   time.Duration
	// Wait is how old a fault must be that comes with rollouts: others may be about
	// to tell the same.
	Wait time.Duration
	// Rates bound what a node does to itself; an action that is missing is free.
	Rates map[Action]Limit
	// Ramp staggers releases.
	Ramp Pace
	// Rota bounds the diagnoses by the clock.
	Rota Rota
}

// Default gives the rules that hold where a site says nothing.
func Default() Rules {
	const day = 24 * time.Hour
	return Rules{
		Fleet:    true,
		Budget:   Share{Least: 1, Percent: 10},
		Outbreak: Share{Least: 3, Percent: 5},
		Window:   10 * time.Minute,
		Wait:     2 * time.Minute,
		Rates: map[Action]Limit{Cordon: {6, day}, Drain: {12, day}, Restart: {6, day}, Reset: {4, day},
			Reboot: {2, day}, Diag: {6, day}},
		Ramp: Pace{Every: time.Minute, Limit: 15 * time.Minute},
		Rota: Rota{AtOnce: 1, PerRack: 1},
	}
}

// Decide gives what holds an action that the group has a say in. A release is
// Ramp's alone.
func (r Rules) Decide(f Facts, a Ask) []Hold {
	if a.Action == Scheduled {
		return r.scheduled(f) // it takes nobody out of service
	}
	if a.Action == Request {
		return some(r.outbreak(f, a)) // whoever does it answers for the rest
	}
	return some(r.budget(f, a), r.outbreak(f, a), capacity(f, a))
}

// some gives the holds that there are.
func some(all ...*Hold) (holds []Hold) {
	for _, h := range all {
		if h != nil {
			holds = append(holds, *h)
		}
	}
	return holds
}
