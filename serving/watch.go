package serving

import (
	"cmp"
	"maps"
	"slices"
	"time"
)

// ID is what the job is known by.
func (j Job) ID() ID { return ID{j.Name, j.UID} }

// ID is what the replica is known by.
func (r Replica) ID() ID { return ID{r.Name, r.UID} }

// Watch remembers what the replicas and GPUs of a node have said, as much as it
// takes to judge them. It is bounded by those that are there: who is gone is
// forgotten. It is not safe for concurrent use.
type Watch struct {
	cfg      Config
	replicas map[ID]*replica
	jobs     []Job
	// shared are the GPUs that several of them have, by UUID.
	shared map[string]bool
	gpus   map[string]*gpu
}

// New makes a watch that has seen nothing.
func New(cfg Config) *Watch {
	return &Watch{cfg: cfg.withDefaults(), replicas: map[ID]*replica{}, gpus: map[string]*gpu{}}
}

// Scraped takes in one look at all endpoints of all replicas of the node, and all of
// its jobs.
func (w *Watch) Scraped(scrapes []Scrape, jobs []Job) {
	byReplica := map[ID][]Scrape{}
	for _, s := range scrapes {
		byReplica[s.Replica.ID()] = append(byReplica[s.Replica.ID()], s)
	}
	before := w.replicas
	w.replicas = make(map[ID]*replica, len(byReplica))
	for id, of := range byReplica {
		r := before[id]
		if r == nil {
			r = &replica{}
		}
		w.replicas[id] = r
		r.take(of[0].Replica, of)
		r.learn()
	}
	w.jobs = slices.Clone(jobs)
	w.share()
}

// share finds the GPUs that several replicas or jobs have.
func (w *Watch) share() {
	users := map[string]int{}
	for _, r := range w.replicas {
		for _, uuid := range r.now.GPUs {
			users[uuid]++
		}
	}
	for _, j := range w.jobs {
		for _, uuid := range j.GPUs {
			users[uuid]++
		}
	}
	w.shared = map[string]bool{}
	for uuid, n := range users {
		if n > 1 {
			w.shared[uuid] = true
		}
	}
}

// Probed takes in how a canary's request has ended: a whole answer is no frozen engine's.
func (w *Watch) Probed(p Probe) {
	if r := w.replicas[p.Replica.ID()]; r != nil && r.Life == p.Replica.Life && p.Outcome == Passed {
		r.answered = p.At.Add(p.Took)
	}
}

// Polled takes in one poll of the GPUs, by UUID. Those that did not answer are left
// out; one that has not for too long is forgotten.
func (w *Watch) Polled(now time.Time, gpus map[string]Activity) {
	maps.DeleteFunc(w.gpus, func(_ string, g *gpu) bool { return w.old(now, g) })
	for uuid, a := range gpus {
		if a.At.IsZero() {
			continue
		}
		g := w.gpus[uuid]
		if g == nil {
			g = &gpu{}
			w.gpus[uuid] = g
		}
		g.poll(a)
	}
}

// Looks judges every replica, sorted by name.
func (w *Watch) Looks(now time.Time) []Look {
	looks := make([]Look, 0, len(w.replicas))
	for _, r := range w.sorted() {
		looks = append(looks, w.look(now, r))
	}
	return looks
}

func (w *Watch) sorted() []*replica {
	rs := make([]*replica, 0, len(w.replicas))
	for _, r := range w.replicas {
		rs = append(rs, r)
	}
	slices.SortFunc(rs, func(a, b *replica) int {
		return cmp.Or(cmp.Compare(a.now.Name, b.now.Name), cmp.Compare(a.now.UID, b.now.UID))
	})
	return rs
}

// JobLook is what is held of one job at a moment.
type JobLook struct {
	Job Job
	// Wedged: all of its GPUs have been wedged for as long as it takes. Works: one of
	// them is known to do something else. Neither is not known.
	Wedged, Works bool
}

// JobLooks judges every job. It takes two GPUs to wait for each other: one that
// waits by itself may do so on purpose.
func (w *Watch) JobLooks(now time.Time) []JobLook {
	looks := make([]JobLook, 0, len(w.jobs))
	for _, j := range w.jobs {
		l := JobLook{Job: j, Wedged: len(j.GPUs) > 1 && w.wedgedFor(now, j.GPUs) >= w.cfg.Wedge}
		for _, uuid := range j.GPUs {
			g := w.gpus[uuid]
			l.Works = l.Works || g != nil && !w.old(now, g) && (g.doing == Working || g.doing == Quiet)
		}
		looks = append(looks, l)
	}
	return looks
}
