package agent

import (
	"context"
	"sync"
	"time"

	"github.com/gpuhealthd/gpuhealthd/fault"
	"github.com/gpuhealthd/gpuhealthd/nvlink"
	"github.com/gpuhealthd/gpuhealthd/remediate"
)

// Domain hears the other nodes of an NVLink domain, by its short name, until ctx is
// done: all of them, whenever one has something else to say.
type Domain interface {
	Hear(ctx context.Context, domain string, heard func([]remediate.Neighbour))
}

// spoken is what the neighbours in a domain say.
type spoken struct {
	domain string
	all    []remediate.Neighbour
}

func (spoken) isMessage() {}

// listener hears the neighbours while the judge wants to, and only then.
type listener struct {
	core   *core
	source Domain
	wake   bell

	mu     sync.Mutex
	domain string
}

func newListener(opts Options, c *core) *listener {
	return &listener{core: c, source: opts.Neighbours, wake: newBell()}
}

// want takes the domain to be heard; empty ends it.
func (l *listener) want(domain string) {
	l.mu.Lock()
	news := domain != l.domain
	l.domain = domain
	l.mu.Unlock()
	if news {
		l.wake.ring()
	}
}

func (l *listener) wanted() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.domain
}

// run hears one domain at a time, until ctx is done.
func (l *listener) run(ctx context.Context) {
	stop := func() {}
	defer func() { stop() }()
	for {
		select {
		case <-ctx.Done():
			return
		case <-l.wake:
		}
		stop()
		stop = l.hear(ctx, l.wanted())
	}
}

// hear begins to hear a domain, and gives what ends that.
func (l *listener) hear(ctx context.Context, domain string) (stop func()) {
	if domain == "" || l.source == nil {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		l.source.Hear(ctx, domain, func(all []remediate.Neighbour) { l.core.tell(ctx, spoken{domain, all}) })
	}()
	return func() { cancel(); <-done }
}

// listens names the domain to be heard, shortly.
func (c *core) listens() string { return nvlink.DomainHash(c.judge.Listens()) }

// spoke takes in what the neighbours say. What is no summary is told, once for as
// long as it stands there, and its node is not heard.
func (c *core) spoke(now time.Time, m spoken) {
	if m.domain != c.listens() {
		return // of a fault that is over
	}
	heard, odd := []nvlink.Summary{}, map[string]string{}
	for _, n := range m.all {
		s, err := nvlink.ParseSummary(n.Node, n.Summary)
		if err != nil {
			if odd[n.Node] = err.Error(); c.odd[n.Node] != err.Error() {
				c.log.Warn("a neighbour is not heard", "node", n.Node, "error", err)
			}
			continue
		}
		heard = append(heard, s)
	}
	c.odd = odd
	c.afflicted(heard)
	c.plan.Sources(now, c.sources)
	c.step(now, fault.Neighbours{Heard: heard})
}

// window wakes the core when the judge's next window ends.
func (c *core) window(now time.Time) {
	if due := c.judge.Due(); !due.Equal(c.due) {
		if c.due = due; due.IsZero() {
			c.alarm.Stop()
			return
		}
		c.alarm.Reset(due.Sub(now))
	}
}
