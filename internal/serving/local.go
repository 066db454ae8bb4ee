package serving

import (
	"fmt"
	"slices"
	"strings"
	"time"

	collect "github.com/gpuhealthd/gpuhealthd/collector/serving"
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
	processes func() holders.Found
	looked    time.Time
	found     holders.Found
}

func newLocal(o Options) *local { return &local{engines: o.Engines, processes: o.Processes} }

// targets are the endpoints of the engines; one whose process is nowhere has none.
func (l *local) targets(now time.Time) (all []collect.Target) {
	for _, e := range l.engines {
		r, pid := serving.Replica{Name: e.Name, GPUs: slices.Sorted(slices.Values(e.GPUs))}, 0
		if e.Process != "" {
			r.GPUs, r.Life, pid = l.holding(e.Process, now)
			if pid == 0 {
				continue
			}
		}
		for _, url := range e.URLs {
			all = append(all, collect.Target{Replica: r, URL: url, Dialect: e.Dialect, PID: pid})
		}
	}
	return all
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
