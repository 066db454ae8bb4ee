package nvml

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/gpuhealthd/gpuhealthd/collector/child"
)

// Probe is the parent's side: it keeps one child running and hears it.
type Probe struct {
	cfg   Config
	start func() (*process, error)
	// polls and restarts hold one wish each.
	polls, restarts chan struct{}
	left            *process // outlived the last Run
	gate            child.Gate
}

// New makes a Probe; Run starts it.
func New(cfg Config) *Probe {
	cfg = cfg.withDefaults()
	return &Probe{
		cfg:      cfg,
		start:    func() (*process, error) { return startProcess(cfg) },
		polls:    make(chan struct{}, 1),
		restarts: make(chan struct{}, 1),
	}
}

// Restart ends the child in order and starts another, without waiting for
// either. One that says it is in a call that does not return is left alone.
func (p *Probe) Restart() {
	select {
	case p.restarts <- struct{}{}:
	default:
	}
}

// Poll asks for one poll of every GPU at once, without waiting for it. Requests
// that come faster than polls are made count as one.
func (p *Probe) Poll() {
	select {
	case p.polls <- struct{}{}:
	default:
	}
}

// Quiet ends the child in order, so that nothing of ours has the driver open,
// and starts none until Resume. See child.Gate.
func (p *Probe) Quiet(ctx context.Context) error { return p.gate.Quiet(ctx) }

// Resume ends Quiet.
func (p *Probe) Resume() { p.gate.Resume() }

// Run keeps a child running and hands each report to out, one at a time, until
// ctx is done; then it ends the child. It returns nil when no child is left, and
// an error that names the process when one had to be left because it may be
// inside a driver call: the GPUs are then not free for a reset. The next Run
// goes on with that child before it starts another. One Run at a time.
func (p *Probe) Run(ctx context.Context, out func(Report)) error {
	alone := time.Now()
	return child.Keep(ctx, &p.gate, func(life context.Context) error {
		c, err := p.next()
		if err != nil {
			p.notStarted(err, time.Since(alone), out)
			return nil
		}
		if err := p.watch(life, c, out, func() error { return p.end(c, ctx.Err() != nil) }); err != nil {
			return err
		}
		alone = time.Now()
		return nil
	})
}

// notStarted reports that there is no child, and has not been for so long. A
// child of an earlier run has lost its parent and is about to end, unless it is
// stuck.
func (p *Probe) notStarted(err error, since time.Duration, out func(Report)) {
	if !errors.Is(err, child.ErrEarlier) {
		out(FailedReport(Error{Op: "start the child", Text: err.Error()}))
	} else if since > p.patience() {
		out(HungReport(Hung{Call: NoAnswer, Seconds: since.Seconds(), Child: err.Error()}))
	}
}

// next gives the child that was left, or a new one.
func (p *Probe) next() (*process, error) {
	if c := p.left; c != nil {
		p.left = nil
		return c, nil
	}
	return p.start()
}

// patience is how long a child may say nothing.
func (p *Probe) patience() time.Duration { return 2*p.cfg.Period + p.cfg.Deadline }

// watch hears one child to its end, or calls end when ctx is done. A child that
// says nothing is reported and waited for, never replaced.
func (p *Probe) watch(ctx context.Context, c *process, out func(Report), end func() error) error {
	silence := time.NewTimer(time.Until(c.heard.Add(p.patience())))
	defer silence.Stop()
	for {
		select {
		case e := <-c.Events:
			if e.Died != nil {
				if !c.excused() {
					out(diedReport(*e.Died))
				}
				return nil
			}
			if e.Garbled != nil {
				out(FailedReport(Error{Op: "read the child's report", Text: e.Garbled.Error()}))
				continue
			}
			c.hear(e.Report)
			silence.Reset(p.patience())
			out(e.Report)
		case <-silence.C:
			out(c.silent())
			silence.Reset(p.cfg.Period)
		case <-p.polls:
			c.poll()
		case <-p.restarts:
			if !c.word.inCall() {
				c.stop()
			}
		case <-ctx.Done():
			return end()
		}
	}
}

// end ends a child: end of input, then SIGTERM, and SIGKILL only if by its own
// last word it is in no driver call. Whoever is in a hurry does not wait for that
// word, and kills nothing.
func (p *Probe) end(c *process, hurry bool) error {
	c.stop()
	if c.gone(child.StopPatience) {
		return nil
	}
	_ = c.Signal(sigTerm) // it may end in this moment
	if c.stopped() {
		_ = c.Signal(sigCont) // it hears neither before
	}
	patience := p.cfg.Deadline + time.Second // for a call to miss its deadline and the child to say so
	if hurry {
		patience = child.TermPatience
	}
	if c.gone(patience) {
		return nil
	}
	if !hurry && !c.mayBeInCall(p.patience()) {
		_ = c.Signal(sigKill)
		if c.gone(time.Second) {
			return nil
		}
	}
	p.left = c
	return fmt.Errorf("nvml child: process %d does not end and may be inside a driver call (last word: %s); %s", c.PID, c.lastWord(), child.InTheWay)
}
