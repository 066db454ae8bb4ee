package fault

import (
	"fmt"
	"slices"
	"time"

	"github.com/gpuhealthd/gpuhealthd/serving"
)

// stalled judges a replica that does not get on. By itself that is the engine's; a
// GPU is to blame where something else speaks against it, and what has made a GPU
// useless already explains the stall.
func (j *Judge) stalled(now time.Time, w Workload, l serving.Look) {
	root := j.useless(l.Replica.GPUs)
	engine := j.open[key{class: StalledEngine, workload: w}]
	blamed, why := j.blamed(now, l)
	c := StalledEngine
	if j.open[key{class: StalledGPU, workload: w}] != nil || root == nil && l.State == serving.Stalled && len(blamed) > 0 {
		c = StalledGPU
	}
	e := j.ofWorkload(now, c, w, l.Replica.GPUs)
	e.Life, e.Cold = l.Replica.Life, l.Cold
	if sure := l.State == serving.Stalled; sure && !e.Sure {
		e.Evidence = append([]string{l.Why}, why...)
		if open := j.requests(w); open != "" && len(e.Evidence) < evidenceLines {
			e.Evidence = append(e.Evidence, open)
		}
		e.Sure = true
		if c == StalledGPU {
			e.GPUs = blamed
		}
	}
	e.explain(l.Why)
	if c == StalledGPU && engine != nil && engine.Root == nil {
		engine.Root = e.ref()
	}
	if root != nil && e.Root == nil {
		e.Root = root.ref()
	}
}

// useless finds the open fault that has made one of some GPUs useless, nil for none.
func (j *Judge) useless(gpus []string) *episode {
	on := j.on(gpus)
	for _, e := range j.ordered() {
		hit := e.ofNode() || slices.ContainsFunc(on, func(d Device) bool { return d.PCI == e.PCI })
		if hit && e.said.Hard && e.Root == nil {
			return e
		}
	}
	return nil
}

// blamed gives those of a replica's GPUs that something beside the stall speaks against, by
// UUID, and says what.
func (j *Judge) blamed(now time.Time, l serving.Look) (blamed, why []string) {
	for _, d := range j.on(l.Replica.GPUs) {
		if said := j.against(now, d, l.Cold); said != "" {
			blamed, why = append(blamed, d.UUID), append(why, said)
		}
	}
	return blamed, why[:min(len(why), evidenceLines-1)]
}

// against says what speaks against a GPU, empty for nothing. That an engine which has
// never computed anything stalls again says more of the engine.
func (j *Judge) against(now time.Time, d Device, cold bool) string {
	if at := j.device(d.PCI).Stalled; !cold && !at.IsZero() && now.Sub(at) <= j.cfg.StallWindow {
		return fmt.Sprintf("again on %s within %v of a restart", d.UUID, j.cfg.StallWindow)
	}
	for _, e := range j.ordered() {
		if e.PCI == d.PCI && e.Confirmed && e.Cured.IsZero() && (e.rule.Hardware || e.Suspicion != "") && !e.Class.IsSXid() {
			return fmt.Sprintf("%s on %s", e.Class, d.UUID)
		}
	}
	return ""
}
