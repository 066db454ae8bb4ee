package serving

import (
	"cmp"
	"slices"

	"github.com/gpuhealthd/gpuhealthd/serving"
)

// maxJobs bounds the jobs of a node without pods. Those with the most GPUs count: one GPU
// by itself waits for nobody.
const maxJobs = 64

// others are the jobs: who holds GPUs, and is neither an engine's nor a service. What
// belongs together has one name.
func (l *local) others() (jobs []serving.Job) {
	engines := l.engineGPUs()
	gpus := map[string][]string{}
	for _, p := range l.found.Processes {
		if l.named(p.Name) || slices.Contains(l.services, p.Name) || within(p.GPUs, engines) {
			continue
		}
		if name, err := l.work(p.PID); err == nil { // else it has ended
			gpus[name] = append(gpus[name], p.GPUs...)
		}
	}
	for name, of := range gpus {
		slices.Sort(of)
		jobs = append(jobs, serving.Job{Name: name, GPUs: slices.Compact(of)})
	}
	slices.SortFunc(jobs, func(a, b serving.Job) int {
		return cmp.Or(-cmp.Compare(len(a.GPUs), len(b.GPUs)), cmp.Compare(a.Name, b.Name))
	})
	return jobs[:min(len(jobs), maxJobs)]
}

// engineGPUs are those that the site's engines have. Who holds no others is a part of an
// engine, such as one of its workers by another name.
func (l *local) engineGPUs() (gpus []string) {
	for _, e := range l.engines {
		gpus = append(gpus, e.GPUs...)
	}
	for _, p := range l.found.Processes {
		if l.named(p.Name) {
			gpus = append(gpus, p.GPUs...)
		}
	}
	return gpus
}

// named says whether an engine is known by processes of a name.
func (l *local) named(name string) bool {
	return slices.ContainsFunc(l.engines, func(e Engine) bool { return e.Process != "" && e.Process == name })
}

func within(some, all []string) bool {
	return !slices.ContainsFunc(some, func(g string) bool { return !slices.Contains(all, g) })
}
