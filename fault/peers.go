package fault

import (
	"fmt"
	"slices"
	"time"

	"github.com/gpuhealthd/gpuhealthd/serving"
)

// Groups is one look at all groups of disaggregated serving that the node takes part
// in.
type Groups struct {
	Groups []serving.Group
	// Off says that nobody follows them, and none is known.
	Off bool
}

func (Groups) isFact() {}

// Rollout says for how long it would be in vain to restart a decode worker that was left
// by a prefill worker: until all prefill workers of the group have been ready for Settle,
// but not longer than Limit from the first loss on. A Limit of 0 is never.
type Rollout struct{ Settle, Limit time.Duration }

// hearGroups judges the decode workers of the node by what was lost of their prefill
// workers: their handles of its memory outlive it, and they go on with them.
func (j *Judge) hearGroups(now time.Time, f Groups) {
	j.grouped = true
	for _, l := range j.pairs.See(now, f.Groups, j.cfg.Rollout.Settle) {
		if l.Role == serving.Prefill {
			for _, w := range l.Hit {
				j.leftBy(now, w, l)
			}
		}
	}
	lives := map[Workload]string{}
	for _, g := range f.Groups {
		for _, w := range g.Here {
			lives[Workload(w.ID())] = w.Life
		}
	}
	for _, e := range j.open {
		life, there := lives[e.Workload]
		switch {
		case e.Class != StalePeer || !e.Cured.IsZero():
		case f.Off:
			j.cureWorkload(now, e, "nobody follows its group any more")
		case !there:
			j.endedAnew(now, e, "it is gone")
		case life != "" && life != e.Life:
			j.endedAnew(now, e, "it was started anew")
		}
	}
	j.awaitRollouts(now)
}

// awaitRollouts settles whose restart would be in vain at a moment.
func (j *Judge) awaitRollouts(now time.Time) {
	if !j.grouped {
		return
	}
	for _, e := range j.open {
		if e.Class == StalePeer {
			since := j.pairs.Steady(e.Group)
			replacing := since.IsZero() || now.Before(since.Add(j.cfg.Rollout.Settle))
			e.Waits = replacing && now.Before(e.Opened.Add(j.cfg.Rollout.Limit))
		}
	}
}

// leftBy takes in that a decode worker was left by a prefill worker.
func (j *Judge) leftBy(now time.Time, w serving.Worker, l serving.Loss) {
	e := j.ofWorkload(now, StalePeer, Workload(w.ID()), w.GPUs)
	if e.Life, e.Group = w.Life, l.Group; e.Lost == "" {
		e.Lost = l.Name
	}
	line := fmt.Sprintf("%s was left by %s, which %s", w.Name, l.Name, l.How)
	if len(e.Evidence) < evidenceLines && !slices.Contains(e.Evidence, line) {
		e.Evidence = append(e.Evidence, line)
	}
}

// Stale is a decode worker of the node that may serve from a prefill worker which is
// gone.
type Stale struct {
	Workload
	// Lost is the first of those, and Since is when it was lost.
	Lost  string    `json:"lost"`
	Since time.Time `json:"since"`
}

// Stale gives those of the moment, by when they were left.
func (j *Judge) Stale() (all []Stale) {
	for _, e := range j.ordered() {
		if e.Class == StalePeer && e.Cured.IsZero() {
			all = append(all, Stale{e.Workload, e.Lost, e.Opened})
		}
	}
	return all
}

// Stranded gives the prefill workers of the node that keep KV cache for decode workers
// which are gone.
func (j *Judge) Stranded(now time.Time) []serving.Stranded { return j.pairs.Stranded(now) }

// Groups gives the groups with their peers as serving.Pairs remembers them.
func (j *Judge) Groups() []serving.Group { return j.pairs.Remembered() }
