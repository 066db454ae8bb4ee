package fault

import (
	"slices"
	"time"
)

// Verdict is what the judge holds of one episode. A later verdict with the
// same ID replaces the earlier.
type Verdict struct {
	// ID is the boot id's first eight digits and the first record's sequence.
	ID    string `json:"id"`
	Class Class  `json:"fault"`
	// GPUs are those that the action is for, Affected all inside the radius,
	// Victims those that only echo. All are sorted by address.
	GPUs     []Device `json:"gpus"`
	Affected []Device `json:"affected"`
	Victims  []Device `json:"victims"`
	// Workloads are those that the verdict is about: pods, or what the configuration
	// names.
	Workloads []Workload `json:"workloads,omitempty"`
	Radius    Radius     `json:"radius"`
	// Instance is the MIG GPU instance that the fault keeps to, of its one GPU; nil
	// for none. What is done about it may reach further.
	Instance *int   `json:"instance,omitempty"`
	Action   Action `json:"action"`
	// Diag is the DCGM diagnostics level that belongs to the action: 0, 2 or 3.
	Diag int `json:"diag"`
	// Hard faults have made the GPU useless already; they are contained at once.
	Hard  bool  `json:"hard"`
	Drain Drain `json:"drain"`
	// Hardware is false where only a program is to blame: the node is healthy.
	Hardware bool `json:"hardware"`
	// Later is an action that waits, None when nothing does: for an idle window, or a
	// restart for its use.
	Later Action `json:"later,omitempty"`
	// Count is how many lines or polls the episode has.
	Count uint64 `json:"count"`
	// Elsewhere: what is to blame is known, and is another GPU, another node or a part
	// of all nodes of the NVLink domain. Nothing is done here for it.
	Elsewhere bool `json:"elsewhere,omitempty"`
	// Watched: links and fabric are in order again, and have to stay so for a while.
	Watched bool `json:"watched,omitempty"`
	// Root is the ID of the episode that this one is a symptom of, or empty.
	Root   string    `json:"root,omitempty"`
	Reason string    `json:"reason"`
	Opened time.Time `json:"opened"`
	// Closed marks the last verdict of an episode.
	Closed bool `json:"closed,omitempty"`
	// Anew: the workloads were started anew, or are gone, and that has ended it.
	Anew bool `json:"anew,omitempty"`
	// Evidence holds the first lines, at most evidenceLines of them.
	Evidence []string `json:"evidence,omitempty"`
}

// Acts says whether the verdict takes the node out of service.
func (v Verdict) Acts() bool { return v.Action.Cordons() }

// same says whether two verdicts would be told in the same words: the count,
// the evidence and the GPUs known to be inside may grow without news.
func (v Verdict) same(w Verdict) bool {
	return v.ID == w.ID && v.Class == w.Class && v.Radius == w.Radius && v.Action == w.Action &&
		v.Diag == w.Diag && v.Hard == w.Hard && v.Drain == w.Drain && v.Later == w.Later &&
		(v.Instance == nil) == (w.Instance == nil) && (v.Instance == nil || *v.Instance == *w.Instance) &&
		v.Elsewhere == w.Elsewhere && v.Watched == w.Watched && v.Root == w.Root && v.Reason == w.Reason && v.Closed == w.Closed &&
		slices.Equal(v.GPUs, w.GPUs) && slices.Equal(v.Victims, w.Victims) && slices.Equal(v.Workloads, w.Workloads)
}
