package fault

import (
	"slices"
	"time"

	"github.com/gpuhealthd/gpuhealthd/serving"
	"github.com/gpuhealthd/gpuhealthd/xidparse"
)

// Served is one look at all serving engines of the node, and at all jobs that hold
// GPUs and have no engine. Who is not in it is gone.
type Served struct {
	Scrapes []serving.Scrape
	Jobs    []serving.Job
}

func (Served) isFact() {}

// Probed is how a canary's request to a replica has ended.
type Probed struct{ Probe serving.Probe }

func (Probed) isFact() {}

// hearServed takes in what serving engines say.
func (j *Judge) hearServed(s Served) {
	j.served = true
	j.remember(s.Scrapes)
	j.watch.Scraped(s.Scrapes, s.Jobs)
}

// activities takes in what the GPUs of a poll do.
func (j *Judge) activities(now time.Time, inv Inventory) {
	did := map[string]serving.Activity{}
	for _, g := range inv.GPUs {
		if !g.Lost && g.Failed == "" {
			did[g.UUID] = g.Activity
			d := j.device(g.PCI)
			d.Instances = nil
			for _, i := range g.Instances {
				d.Instances = append(d.Instances, i.UUID)
				did[i.UUID] = i.Activity
			}
		}
	}
	j.watch.Polled(now, did)
	for _, e := range j.open {
		if e.Workload != (Workload{}) && !e.Cured.IsZero() && answers(did, j.on(e.GPUs)) {
			e.Clean++
		}
	}
}

// answers says whether all of some GPUs are among those that have answered.
func answers(did map[string]serving.Activity, ds []Device) bool {
	return !slices.ContainsFunc(ds, func(d Device) bool {
		_, answered := did[d.UUID]
		return !answered
	})
}

// serving judges the workloads by all that is known of them at a moment.
func (j *Judge) serving(now time.Time) {
	there := map[Workload]bool{}
	for _, l := range j.watch.Looks(now) {
		w := Workload(l.Replica.ID())
		there[w] = true
		j.replica(now, w, l)
	}
	for _, l := range j.watch.JobLooks(now) {
		w := Workload(l.Job.ID())
		there[w] = true
		switch {
		case l.Wedged:
			j.ofWorkload(now, WedgedJob, w, l.Job.GPUs)
		case l.Works:
			j.getsOn(now, w, WedgedJob)
		}
	}
	for _, e := range j.open {
		if j.served && e.Workload != (Workload{}) && e.Class != StalePeer && !there[e.Workload] {
			j.overForWorkload(now, e, "it is gone")
		}
	}
}

// replica judges one replica of a serving engine.
func (j *Judge) replica(now time.Time, w Workload, l serving.Look) {
	for _, c := range []Class{StalledEngine, StalledGPU} {
		if e := j.open[key{class: c, workload: w}]; e != nil && (l.Anew || e.Life != l.Replica.Life) {
			j.overForWorkload(now, e, "it was started anew")
		}
	}
	switch l.State {
	case serving.Stalled, serving.Doubtful:
		j.stalled(now, w, l)
	case serving.Well:
		j.getsOn(now, w, StalledEngine)
		j.getsOn(now, w, StalledGPU)
	case serving.Unclear:
		if l.Closed {
			const how = "it has no request open any more"
			j.endFor(now, w, StalledEngine, how)
			j.endFor(now, w, StalledGPU, how)
		}
	}
	switch l.Pace {
	case serving.PaceSlow:
		j.ofWorkload(now, SlowReplica, w, l.Replica.GPUs).explain("each request gets much fewer tokens a second than it does else, and than on its peers")
	case serving.PaceUsual:
		j.getsOn(now, w, SlowReplica)
	case serving.PaceUnknown:
	}
}

// Scores gives every replica of the node its score, beside its fleet's latencies
// where these are known.
func (j *Judge) Scores(now time.Time, fleet serving.Fleet) []serving.Score {
	sick := map[string]bool{}
	for _, e := range j.open {
		switch {
		case e.Class == StalledGPU && e.Root == nil:
			for _, uuid := range e.GPUs {
				sick[uuid] = true
			}
		case e.PCI != (xidparse.PCI{}) && !e.Class.IsSXid() && e.Confirmed && e.rule.Hardware && e.Root == nil && !contained(e):
			sick[j.named(e.PCI).UUID] = true
			for _, instance := range j.instances(e.PCI) {
				sick[instance] = true
			}
		}
	}
	return j.watch.Scores(now, fleet, sick)
}

// contained says whether a fault has hit no more than a process that is gone.
func contained(e *episode) bool { return e.said.Action == Record && e.said.Radius <= Process }
