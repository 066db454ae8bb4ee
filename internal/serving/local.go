package serving

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/gpuhealthd/gpuhealthd/remediate/holders"
	"github.com/gpuhealthd/gpuhealthd/serving"
)

// lookEvery is the time between two looks at all processes, each of which costs some
// milliseconds. One that has found nobody counts for nothing: the driver's child may
// not have told the GPUs yet.
const lookEvery = 15 * time.Second

// local are the engines that the site names.
type local struct {
	engines   []Engine
	canary    bool
	processes func() holders.Found
	looked    time.Time
	found     holders.Found
}

func newLocal(o Options) *local {
	return &local{engines: o.Engines, canary: o.Canary, processes: o.Processes}
}

// site is an engine that the site names, as it is found.
type site struct {
	replica   serving.Replica
	pid       int // 0 is not known
	endpoints []endpoint
	wish      wish
}

// replicas are the engines; one whose process is nowhere is none.
func (l *local) replicas(now time.Time) (all []site) {
	for _, e := range l.engines {
		found := site{replica: serving.Replica{Name: e.Name, GPUs: slices.Sorted(slices.Values(e.GPUs))}, wish: l.wish(e)}
		if r := &found.replica; e.Process != "" {
			if r.GPUs, r.Life, found.pid = l.holding(e.Process, now); found.pid == 0 {
				continue
			}
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
func (l *local) holding(name string, now time.Time) (gpus []string, life string, pid int) {
	nobody := len(l.found.Processes) == 0 && now.After(l.looked)
	if nobody || now.Sub(l.looked) >= lookEvery {
		l.looked, l.found = now, l.processes()
	}
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
