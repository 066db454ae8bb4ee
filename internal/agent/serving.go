package agent

import (
	"context"
	"time"

	"github.com/gpuhealthd/gpuhealthd/collector/nvml"
	"github.com/gpuhealthd/gpuhealthd/fault"
	"github.com/gpuhealthd/gpuhealthd/serving"
)

// Replicas asks the serving engines of the node, until ctx is done: all of them each
// time, and the work without an engine.
type Replicas interface {
	Run(ctx context.Context, out func([]serving.Scrape, []serving.Job)) error
	// Troubles are what keeps from knowing who serves, or who works with whom, at
	// present, in words. It may be called from any goroutine.
	Troubles() []string
}

// served is one look at all of them.
type served struct {
	scrapes  []serving.Scrape
	jobs     []serving.Job
	entrants []serving.Entrant
	unfound  []Unfound
}

func (served) isMessage() {}

// ServingStatus is how the replicas of the node are.
type ServingStatus struct {
	// At is when they were looked at; zero while it is not known who serves.
	At       time.Time       `json:"at,omitzero"`
	Replicas []serving.Score `json:"replicas"`
	// Troubles are what keeps from knowing all of them, as a right that is missing.
	Troubles []string `json:"troubles,omitempty"`
	// Fleet is why the latencies of the fleet are not known, or not all of them; empty
	// where they are, or nobody is asked.
	Fleet string `json:"fleet,omitempty"`
	// Faults are the open ones of replicas and jobs, those that are only recorded too.
	Faults []WorkloadFault `json:"faults,omitempty"`
	// Unasked are the endpoints that did not answer, and why.
	Unasked []Unasked `json:"unasked,omitempty"`
	// Unfound are the replicas that somebody has named and that cannot be asked, or
	// judged, as it was meant; and why.
	Unfound []Unfound `json:"unfound,omitempty"`
	// Trials are how far the replicas have proved that they serve.
	Trials []serving.Trial `json:"trials,omitempty"`
}

// Word is how a replica is, in one word of Words: its state, unless its trial says that it
// is held or failing and its state nothing worse.
func (s *ServingStatus) Word(r serving.Score) string {
	if r.State == serving.Well || r.State == serving.Unclear {
		for _, t := range s.Trials {
			if name := trialName(t); t.Replica.ID() == r.Replica.ID() && (name == trialHeld || name == trialFailing) {
				return name
			}
		}
	}
	return r.State.String()
}

// Words are all that Word gives.
func Words() (all []string) {
	for _, state := range serving.States() {
		all = append(all, state.String())
	}
	return append(all, trialHeld, trialFailing)
}

// WorkloadFault is an open fault of a replica or of a job.
type WorkloadFault struct {
	Workload string       `json:"workload"`
	Fault    fault.Class  `json:"fault"`
	Action   fault.Action `json:"action"`
	Opened   time.Time    `json:"opened"`
	Reason   string       `json:"reason"`
}

// Unasked is an endpoint that did not answer.
type Unasked struct {
	Replica  string `json:"replica"`
	Endpoint string `json:"endpoint"`
	Why      string `json:"why"`
}

// Unfound is a replica that somebody has named and that is not found as it was meant.
type Unfound struct {
	Replica string `json:"replica"`
	Why     string `json:"why"`
}

// serves takes in one look at the replicas.
func (c *core) serves(now time.Time, m served) {
	c.step(now, fault.Served{Scrapes: m.scrapes, Jobs: m.jobs})
	s := &ServingStatus{At: now, Replicas: c.judge.Scores(now, c.fleet.latencies), Fleet: c.fleet.why(), Unfound: m.unfound}
	for _, v := range c.judge.Open() {
		for _, w := range v.Workloads {
			s.Faults = append(s.Faults, WorkloadFault{w.Name, v.Class, v.Action, v.Opened, v.Reason})
		}
	}
	for _, scrape := range m.scrapes {
		if scrape.Answer != serving.Answered {
			s.Unasked = append(s.Unasked, Unasked{scrape.Replica.Name, scrape.Endpoint, scrape.Why})
		}
	}
	c.holdTrials(now, m, s)
	c.serving = s
	c.looks++
}

// follow hears the replicas. Where nobody asks them any more, an agent before may have
// left what is open of one.
func (a *Agent) follow(ctx context.Context) {
	if a.opts.Replicas == nil {
		a.core.tell(ctx, served{})
		return
	}
	err := a.opts.Replicas.Run(ctx, func(scrapes []serving.Scrape, jobs []serving.Job) {
		m := served{scrapes: scrapes, jobs: jobs}
		if a.opts.Rotation != nil {
			m.entrants = a.opts.Rotation.Entrants()
		}
		if a.opts.Unfound != nil {
			m.unfound = a.opts.Unfound()
		}
		a.core.tell(ctx, m)
	})
	if err != nil {
		a.log.Error("the serving engines are not asked", "error", err)
	}
}

// activity is what a poll says of what a GPU does; nothing where the GPU was not
// asked, since a call before does not return.
func activity(at time.Time, g nvml.GPU) serving.Activity {
	if g.Stuck != "" {
		return serving.Activity{}
	}
	a := serving.Activity{At: at, SM: g.Use.SM, Tensor: g.Use.Tensor, DRAM: g.Use.DRAM, Watts: g.Power.Watts, Limit: g.Power.Limit}
	if g.Use.GPU != nil {
		busy := float64(*g.Use.GPU)
		a.Busy = &busy
	}
	return a
}

// instanceActivity is the same of a MIG device. The power is of all instances together,
// and says nothing of one.
func instanceActivity(at time.Time, g nvml.GPU, i nvml.Instance) serving.Activity {
	if g.Stuck != "" {
		return serving.Activity{}
	}
	return serving.Activity{At: at, SM: i.SM, Tensor: i.Tensor, DRAM: i.DRAM}
}
