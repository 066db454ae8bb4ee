package fault

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/gpuhealthd/gpuhealthd/xidparse"
)

// A program's own fault (XID 13, 31) points to the GPU when the same place of it
// is blamed again and again by programs that have nothing in common.
const (
	// suspectJobs is how many processes must have run into one place, and
	// suspectNames how many names these must have: one program that crashes and
	// is started again is most often the same bug again.
	suspectJobs, suspectNames = 3, 2
	// suspectWindow is how long a process counts.
	suspectWindow = day
	// jobGap is how far apart two of them must be; what dies together is one job.
	jobGap = 10 * time.Second
	// maxPlaces bounds the places that are remembered of one GPU; real ones have
	// fewer than a hundred TPCs, and a log may lie.
	maxPlaces = 128
)

// job is one process that ran into a place of a GPU.
type job struct {
	PID  int
	Name string
	At   time.Time
}

// suspect takes in whom a program's fault blames.
func (j *Judge) suspect(now time.Time, e *episode, ev xidparse.Event) {
	if place := ev.Place(); place != "" && ev.PID != 0 && e.Suspicion == "" {
		e.Suspicion = suspicion(place, j.device(ev.PCI).blamed(now, place, ev))
	}
}

// blamed remembers who ran into which place of a GPU. It outlives episodes,
// which end when a program has been quiet for an hour.
func (d *device) blamed(now time.Time, place string, ev xidparse.Event) []job {
	if d.Places == nil {
		d.Places = map[string][]job{}
	}
	if _, known := d.Places[place]; !known && len(d.Places) >= maxPlaces {
		return nil
	}
	jobs := slices.DeleteFunc(d.Places[place], func(j job) bool { return now.Sub(j.At) > suspectWindow })
	last := len(jobs) - 1
	same := slices.ContainsFunc(jobs, func(j job) bool { return j.PID == ev.PID })
	if !same && (last < 0 || now.Sub(jobs[last].At) >= jobGap) {
		jobs = append(jobs, job{ev.PID, ev.Process, now})
	}
	if n := len(jobs) - suspectJobs; n > 0 {
		jobs = slices.Delete(jobs, 0, n)
	}
	d.Places[place] = jobs
	return jobs
}

// suspicion says in words why a place makes the GPU suspect; empty when it does
// not.
func suspicion(place string, jobs []job) string {
	var names []string
	for _, j := range jobs {
		if !slices.Contains(names, j.Name) {
			names = append(names, j.Name)
		}
	}
	if len(jobs) < suspectJobs || len(names) < suspectNames {
		return ""
	}
	return fmt.Sprintf("%s was blamed by %d processes of different programs (%s) within 24 hours: the GPU is suspect", place, len(jobs), strings.Join(names, ", "))
}

// refineSuspect makes of a program's fault a suspicion against the GPU: to be
// diagnosed once it is idle, and nothing that takes the node out of service.
func refineSuspect(e *episode, v *Verdict) []string {
	if e.Suspicion == "" {
		return nil
	}
	v.Hardware, v.Radius, v.Action = true, GPU, Record
	v.Later, v.Drain, v.Diag = Diag, DrainWhenIdle, 2
	return []string{e.Suspicion}
}
