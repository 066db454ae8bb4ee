package agent

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/gpuhealthd/gpuhealthd/fault"
	"github.com/gpuhealthd/gpuhealthd/remediate"
	"github.com/gpuhealthd/gpuhealthd/serving"
)

// Canary asks replicas what users would ask, until ctx is done: those of whom may says
// so at the moment. Out may be called by several goroutines at once.
type Canary interface {
	Run(ctx context.Context, may func(serving.Replica) bool, out func(serving.Probe))
}

// Rotation knows who comes to a trial, and lets replicas have requests or not.
type Rotation interface {
	Entrants() []serving.Entrant
	// Settle makes replicas stand so. Those that do already are left alone.
	Settle(ctx context.Context, all []serving.Stand) error
}

// probed is how a canary's request has ended.
type probed struct{ probe serving.Probe }

func (probed) isMessage() {}

// asking says who may be asked by a canary.
type asking struct {
	// moving: a drain or restart is under way; then nobody who serves is asked, since he
	// has the load of others to carry.
	moving bool
	// held has the lives that are on trial: an answer before that would be nobody's. True
	// are those that serve nobody before they have proved that they do.
	held map[aLife]bool
}

// aLife is one life of a replica.
type aLife struct {
	serving.ID
	life string
}

func lifeOf(r serving.Replica) aLife { return aLife{r.ID(), r.Life} }

func (a *asking) may(r serving.Replica) bool {
	if a == nil {
		return false
	}
	held, known := a.held[lifeOf(r)]
	return known && (held || !a.moving)
}

// askReplicas has the canary ask.
func (a *Agent) askReplicas(ctx context.Context) {
	may := func(r serving.Replica) bool { return a.core.asking.Load().may(r) }
	a.opts.Canary.Run(ctx, may, func(p serving.Probe) { a.core.tell(ctx, probed{p}) })
}

// probes takes in how a canary's request has ended.
func (c *core) probes(now time.Time, p serving.Probe) {
	c.metrics.canary.WithLabelValues(p.Outcome.String()).Inc()
	c.step(now, fault.Probed{Probe: p})
	if c.trials.Probe(now, p) {
		log := c.log.Info
		if p.Outcome != serving.Passed {
			log = c.log.Warn
		}
		log("a canary's requests end otherwise than before", "replica", p.Replica.Name, "outcome", p.Outcome.String(), "why", p.Why,
			"endpoint", p.Endpoint, "took", p.Took.String(), "firstToken", p.FirstToken.String(), "tokens", p.Tokens)
	}
	if c.serving != nil {
		s := *c.serving
		s.Trials = c.trials.List()
		c.serving = &s
	}
}

// holdTrials takes in who comes to a trial, and what the scrapes say of them.
func (c *core) holdTrials(now time.Time, m served, s *ServingStatus) {
	c.trials.Replicas(now, m.entrants)
	c.trials.Scrapes(now, m.scrapes)
	s.Trials = c.trials.List()
	for i := range s.Replicas {
		r := &s.Replicas[i]
		if t := c.trials[r.Replica.Name]; t != nil && t.Canary != nil {
			r.Set(serving.PartCanary, t.Canary.Share())
		}
	}
}

// prove settles what follows from the trials: who may be asked, and for whom the node
// waits on its probation.
func (c *core) prove() {
	if c.opts.Rotation == nil {
		return
	}
	a := &asking{held: map[aLife]bool{}}
	if d := c.plan.Deed(); d != nil {
		a.moving = moves(*d)
	}
	if c.sources.Unproved = nil; c.serving == nil {
		c.sources.Unproved = []string{"the replicas, which were not looked at yet"}
	}
	for _, t := range c.trials.List() {
		a.held[lifeOf(t.Replica)] = t.Waits()
		if want := t.Wants(); want != "" {
			c.sources.Unproved = append(c.sources.Unproved, t.Replica.Name+": "+want)
		}
	}
	c.asking.Store(a)
}

// moves says whether a deed moves pods.
func moves(d remediate.Deed) bool {
	return !d.Undoing && (d.Kind == remediate.StepDrain || d.Kind == remediate.StepRestart)
}

// deed is what shall be under way. A restart that an agent before has wanted waits for
// the first look of this one: the replica may get on by now.
func (c *core) deed() *remediate.Deed {
	d := c.plan.Deed()
	if d != nil && d.Kind == remediate.StepRestart && !d.Undoing && c.looks == 0 {
		return nil
	}
	return d
}

// stands are how the replicas shall stand, but for those that are about to be moved.
func (c *core) stands(now time.Time) []serving.Stand {
	left := c.left()
	all := append(c.trials.Stands(now, left), c.trials.Untried(c.company.Here(), left)...)
	all = withhold(all, c.trials, c.plan.Stuck())
	if d := c.plan.Deed(); d != nil && moves(*d) {
		all = slices.DeleteFunc(all, func(s serving.Stand) bool { return s.Standing != serving.OnProbation && inRadius(*d, s.Replica) })
	}
	return all
}

// withhold has those replicas stand so that do not get on; who is on probation has no
// requests anyway.
func withhold(all []serving.Stand, trials serving.Trials, stuck []fault.Workload) []serving.Stand {
	for _, w := range stuck {
		t := trials[w.Name]
		if t == nil || fault.Workload(t.Replica.ID()) != w {
			continue
		}
		stand := serving.Stand{Replica: t.Replica, Standing: serving.Stuck, Why: "its engine has requests open, and they do not get on"}
		n := slices.IndexFunc(all, func(s serving.Stand) bool { return s.Replica.ID() == t.Replica.ID() })
		switch {
		case n < 0:
			all = append(all, stand)
		case all[n].Standing != serving.OnProbation:
			all[n] = stand
		}
	}
	return all
}

// inRadius says whether a deed may move a replica. Of a MIG instance it is not looked
// whose it is.
func inRadius(d remediate.Deed, r serving.Replica) bool {
	on := func(uuid string) bool {
		return strings.HasPrefix(uuid, "MIG-") || slices.ContainsFunc(d.GPUs, func(g fault.Device) bool { return g.UUID == uuid })
	}
	switch {
	case d.Whole:
		return true
	case d.Kind == remediate.StepRestart:
		return slices.ContainsFunc(d.Workloads, func(w fault.Workload) bool { return w == fault.Workload(r.ID()) })
	}
	return slices.ContainsFunc(r.GPUs, on)
}
