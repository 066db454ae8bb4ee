package serving

import "time"

// Replica is what serves one model by one or more engines: a pod, or what the
// configuration names.
type Replica struct {
	// Name is namespace/name of the pod, or the name in the configuration.
	Name string `json:"name"`
	// UID is the pod's; empty outside of pods.
	UID string `json:"uid,omitempty"`
	// Life tells one start of the replica's containers from the next: it changes
	// when any of them is started anew.
	Life string `json:"life,omitempty"`
	// Role is what the replica does in disaggregated serving: Prefill, Decode, or else
	// as the site calls it; empty is all of it. Group is what it does that for.
	Role  string `json:"role,omitempty"`
	Group string `json:"group,omitempty"`
	// GPUs are UUIDs, sorted: those of whole GPUs, and of MIG instances.
	GPUs []string `json:"gpus,omitempty"`
}

// Answer is how an endpoint took to being asked.
type Answer uint8

// The answers.
const (
	// Answered: with metrics of a known engine.
	Answered Answer = iota
	// Refused: nobody listens there. It may be loading its model still; whatever a
	// process before it had open has ended with it.
	Refused
	// Silent: it took the connection and has not answered within the deadline.
	Silent
	// Unreached: no connection came about within the deadline.
	Unreached
	// Failed: it has answered, and not with metrics.
	Failed
	// Foreign: it has answered with metrics, and of no engine that is known.
	Foreign
)

// Scrape is one look at one endpoint of a replica.
type Scrape struct {
	Replica  Replica
	Endpoint string // the URL
	// At is when it was begun, Took how long it was.
	At   time.Time
	Took time.Duration
	// Answer is how that ended; Why says it in words where it is not Answered.
	Answer Answer
	Why    string
	// Alive says whether the process behind it lives; nil is unknown.
	Alive *bool
	// Dialect is the name of the engine's kind, such as vllm.
	Dialect string
	// Started is when the engine's process began, as it says itself; zero is unknown.
	Started time.Time
	// Engines are those behind the endpoint, sorted by name; there are several with
	// data parallelism.
	Engines []Reading
}

// Reading is what one engine says. A nil pointer is unknown: the engine has no such
// metric, or only a header of it.
type Reading struct {
	// Engine is the engine's own label, empty where it is alone.
	Engine string
	Model  string
	// Lag is how far Running and Waiting may be behind while nothing is computed.
	Lag time.Duration
	// Running requests are computed on, Waiting ones are in a queue.
	Running, Waiting *float64
	// Deferred are those of the waiting ones that could be computed on, and lack something
	// else, such as a KV cache that another worker is to hand over.
	Deferred *float64
	// Progress rises while a request is computed on, Finished only at its end. Both
	// begin at 0 with the process.
	Progress, Finished *float64
	// Tokens counts those that were generated, where the engine counts them as they
	// come.
	Tokens *float64
	// Paused: it sleeps or was paused on purpose.
	Paused *bool
	// FirstToken and PerToken are how long requests wait for the first token, and
	// for each further one.
	FirstToken, PerToken *Histogram
}

// Histogram is a cumulative one of seconds, as Prometheus has it: its counts begin
// at 0 with the process.
type Histogram struct {
	// Bounds are upper bounds in seconds, rising; the last may be +Inf. Counts are how
	// many were at most so long.
	Bounds []float64
	Counts []float64
}

// Activity is what one GPU did, by its last poll. A nil pointer is unknown.
type Activity struct {
	At time.Time
	// Busy is the percentage of time in which any kernel ran.
	Busy *float64
	// SM, Tensor and DRAM are percentages of activity.
	SM, Tensor, DRAM *float64
	// Watts is the power drawn, Limit what may be drawn.
	Watts, Limit *float64
}
