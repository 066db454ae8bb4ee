package serving

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/gpuhealthd/gpuhealthd/remediate/holders"
	"github.com/gpuhealthd/gpuhealthd/serving"
)

const (
	// lookEvery is the time between two looks at all processes where an engine is known by
	// its process: each costs some 40 ms of a core per thousand processes. One that has
	// found nobody counts for nothing: the driver's child may not have told the GPUs yet.
	lookEvery = 15 * time.Second
	// lookSeldom is the same for jobs alone, which are wedged after minutes.
	lookSeldom = time.Minute
)

// local are the engines that the site names, and the processes among which they are.
type local struct {
	engines   []Engine
	canary    bool
	processes func() holders.Found
	work      func(pid int) (string, error)
	services  []string
	gpus      func() []string
	looked    time.Time
	found     holders.Found
	jobs      []serving.Job
}

func newLocal(o Options) *local {
	gpus := o.GPUs
	if gpus == nil {
		gpus = func() []string { return nil }
	}
	return &local{engines: o.Engines, canary: o.Canary, processes: o.Processes, services: o.Services, gpus: gpus,
		work: func(pid int) (string, error) { return holders.Work(o.Proc, pid) }}
}

// look looks at all processes, if it is time.
func (l *local) look(now time.Time) {
	if l.processes == nil || now.Sub(l.looked) < l.every() {
		return
	}
	l.looked, l.found = now, l.processes()
	if len(l.found.Processes) > 0 || l.found.Unknown == "" {
		l.jobs = l.others()
	}
}

// every is the time from the last look to the next.
func (l *local) every() time.Duration {
	switch {
	case !l.byProcess():
		return lookSeldom
	case len(l.found.Processes) == 0:
		return 1
	}
	return lookEvery
}

// byProcess says whether any engine is known by its process.
func (l *local) byProcess() bool {
	return slices.ContainsFunc(l.engines, func(e Engine) bool { return e.Process != "" })
}

// site is an engine that the site names, as it is found.
type site struct {
	engine    Engine
	replica   serving.Replica
	pid       int // 0 is not known
	endpoints []endpoint
	wish      wish
}

// replicas are the engines; one whose process is nowhere has no pid, and is none.
func (l *local) replicas() (all []site) {
	for _, e := range l.engines {
		found := site{engine: e, replica: serving.Replica{Name: e.Name, GPUs: slices.Sorted(slices.Values(e.GPUs))}, wish: l.wish(e)}
		if r := &found.replica; e.Process != "" {
			r.GPUs, r.Life, found.pid = l.holding(e.Process)
		}
		for _, url := range e.URLs {
			found.endpoints = append(found.endpoints, endpoint{url: url, dialect: e.Dialect})
		}
		all = append(all, found)
	}
	return all
}

func (l *local) wish(e Engine) wish {
	switch {
	case !l.canary || e.Canary == noPort:
		return wish{none: true}
	case e.Canary != "":
		return wish{urls: []string{e.Canary}, model: e.Model}
	}
	return wish{model: e.Model}
}

// holding finds the GPUs that processes of a name have open, what tells one start of
// them from the next, and the first of them; 0 where there is none.
func (l *local) holding(name string) (gpus []string, life string, pid int) {
	var pids []string
	for _, p := range l.found.Processes {
		if p.Name != name {
			continue
		}
		if pid == 0 {
			pid = p.PID
		}
		gpus = append(gpus, p.GPUs...)
		pids = append(pids, fmt.Sprint(p.PID))
	}
	slices.Sort(gpus)
	return slices.Compact(gpus), strings.Join(pids, " "), pid
}
