package agent

import (
	"context"
	"log/slog"
	"maps"
	"sync"
	"time"

	"github.com/gpuhealthd/gpuhealthd/fault"
	"github.com/gpuhealthd/gpuhealthd/serving"
)

// Peers follows the groups of disaggregated serving that the node takes part in, until
// ctx is done, and tells all of them whenever one has changed, or that none is followed.
// Before are those with their peers as an agent knew them last.
type Peers interface {
	Follow(ctx context.Context, before []serving.Group, out func(serving.Company)) error
}

// Marker says on a pod of the node that a peer has left it; an empty text takes that
// away. It may be called any number of times.
type Marker interface {
	MarkStale(ctx context.Context, w fault.Workload, text string) error
}

// grouped is one look at all groups.
type grouped struct{ company serving.Company }

func (grouped) isMessage() {}

// WorkerStatus is how a worker of disaggregated serving is that this node has.
type WorkerStatus struct {
	serving.Worker
	Group string `json:"group"`
	// Peers counts those that it works with; nil while they are not known.
	Peers *int `json:"peers"`
	// Stale is set where it may serve from a worker that is gone, Stranded where it keeps
	// KV cache for one.
	Stale    *fault.Stale      `json:"stale,omitempty"`
	Stranded *serving.Stranded `json:"stranded,omitempty"`
}

// followGroups hears the groups. Where nobody follows them any more, an agent before may
// have left what is open of one.
func (a *Agent) followGroups(ctx context.Context, before []serving.Group) {
	if a.opts.Peers == nil {
		a.core.tell(ctx, grouped{serving.Company{Off: true}})
		return
	}
	if err := a.opts.Peers.Follow(ctx, before, func(c serving.Company) { a.core.tell(ctx, grouped{c}) }); err != nil {
		a.log.Error("the groups of disaggregated serving are not followed", "error", err)
	}
}

// hearGroups takes in one look at the groups.
func (c *core) hearGroups(now time.Time, m grouped) {
	c.company = m.company
	c.step(now, fault.Groups{Groups: m.company.Groups, Off: m.company.Off})
}

// stranded is how many GPUs' worth of the prefill workers does nothing at present.
func (c *core) stranded(now time.Time) (gpus float64) {
	for _, s := range c.judge.Stranded(now) {
		gpus += s.GPUs
	}
	return gpus
}

// left are the workers of the node that were left by a peer, and the first of those.
func (c *core) left() map[serving.ID]string {
	left := map[serving.ID]string{}
	for _, s := range c.judge.Stale() {
		left[serving.ID(s.Workload)] = s.Lost
	}
	return left
}

// marks are the texts that pods of the node shall say of their peers and do not yet.
func (c *core) marks() map[fault.Workload]string {
	wanted := map[fault.Workload]string{}
	for _, s := range c.judge.Stale() {
		wanted[s.Workload] = s.Since.UTC().Format(time.RFC3339) + " " + s.Lost
	}
	marks := map[fault.Workload]string{}
	for _, w := range c.company.Here() {
		if text := wanted[fault.Workload(w.ID())]; text != w.Marked {
			marks[fault.Workload(w.ID())] = text
		}
	}
	return marks
}

// workers are the node's workers of disaggregated serving, as they are at a moment.
func (c *core) workers(now time.Time) (all []WorkerStatus) {
	stale, stranded := map[serving.ID]fault.Stale{}, map[serving.ID]serving.Stranded{}
	for _, s := range c.judge.Stale() {
		stale[serving.ID(s.Workload)] = s
	}
	for _, s := range c.judge.Stranded(now) {
		stranded[s.ID] = s
	}
	for _, g := range c.company.Groups {
		for _, w := range g.Here {
			status := WorkerStatus{Worker: w, Group: g.Name}
			if peers, known := g.Peers[w.Role.Other()]; known {
				n := len(peers)
				status.Peers = &n
			}
			if s, is := stale[w.ID()]; is {
				status.Stale = &s
			}
			if s, is := stranded[w.ID()]; is {
				status.Stranded = &s
			}
			all = append(all, status)
		}
	}
	return all
}

// marker writes the marks, each once.
type marker struct {
	worker
	log *slog.Logger
	by  Marker

	mu     sync.Mutex
	wanted map[fault.Workload]string
	// written are those that were taken, and that are not seen on their pods yet.
	written map[fault.Workload]string
}

func newMarker(opts Options) *marker {
	m := &marker{log: opts.Log, by: opts.Marker, written: map[fault.Workload]string{}}
	m.worker = newWorker(m.mark)
	return m
}

// want takes the present marks.
func (m *marker) want(marks map[fault.Workload]string) {
	if m.by == nil {
		return
	}
	m.mu.Lock()
	news := !maps.Equal(m.wanted, marks)
	m.wanted = marks
	maps.DeleteFunc(m.written, func(w fault.Workload, _ string) bool { _, still := marks[w]; return !still })
	m.mu.Unlock()
	if news {
		m.poke()
	}
}

// due are the marks that are still to be written.
func (m *marker) due() map[fault.Workload]string {
	m.mu.Lock()
	defer m.mu.Unlock()
	due := maps.Clone(m.wanted)
	maps.DeleteFunc(due, func(w fault.Workload, text string) bool {
		written, is := m.written[w]
		return is && written == text
	})
	return due
}

// mark tries every mark once.
func (m *marker) mark(ctx context.Context) bool {
	all := true
	for w, text := range m.due() {
		try, cancel := context.WithTimeout(ctx, tryLimit)
		err := m.by.MarkStale(try, w, text)
		cancel()
		if err != nil {
			m.log.Warn("a pod does not say of its peers what it should", "pod", w.Name, "error", err)
			all = false
			continue
		}
		m.mu.Lock()
		if _, still := m.wanted[w]; still {
			m.written[w] = text
		}
		m.mu.Unlock()
	}
	return all
}
