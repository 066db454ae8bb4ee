package nvml

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// The pause before a child is started again doubles from the first to the
// last; a child that lived that long starts it anew.
const (
	minBackoff = time.Second
	maxBackoff = time.Minute
)

// Probe is the parent's side: it keeps one child running and hears it.
type Probe struct {
	cfg   Config
	start func() (*child, error)
	polls chan struct{}
	left  *child // outlived the last Run
}

// New makes a Probe; Run starts it.
func New(cfg Config) *Probe {
	cfg = cfg.withDefaults()
	return &Probe{
		cfg:   cfg,
		start: func() (*child, error) { return startProcess(cfg) },
		polls: make(chan struct{}, 1),
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

// Run keeps a child running and hands each report to out, one at a time, until
// ctx is done; then it ends the child. It returns nil when no child is left, and
// an error that names the process when one had to be left because it may be
// inside a driver call: the GPUs are then not free for a reset. The next Run
// goes on with that child before it starts another. One Run at a time.
func (p *Probe) Run(ctx context.Context, out func(Report)) error {
	pause, alone := minBackoff, time.Now()
	for ctx.Err() == nil {
		began := time.Now()
		if c, err := p.next(); err != nil {
			p.notStarted(err, time.Since(alone), out)
		} else if err := p.watch(ctx, c, out); err != nil {
			return err
		} else {
			alone = time.Now()
		}
		if time.Since(began) >= maxBackoff {
			pause = minBackoff
		}
		sleep(ctx, pause)
		pause = min(2*pause, maxBackoff)
	}
	return nil
}

// notStarted reports that there is no child, and has not been for so long. A
// child of an earlier run has lost its parent and is about to end, unless it is
// stuck.
func (p *Probe) notStarted(err error, since time.Duration, out func(Report)) {
	if !errors.Is(err, errEarlierChild) {
		out(FailedReport(Error{Op: "start the child", Text: err.Error()}))
	} else if since > p.patience() {
		out(HungReport(Hung{Call: NoAnswer, Seconds: since.Seconds()}))
	}
}

// next gives the child that was left, or a new one.
func (p *Probe) next() (*child, error) {
	if c := p.left; c != nil {
		p.left = nil
		return c, nil
	}
	return p.start()
}

// patience is how long a child may say nothing.
func (p *Probe) patience() time.Duration { return 2*p.cfg.Period + p.cfg.Deadline }

// watch hears one child to its end, or ends it when ctx is done. A child that
// says nothing is reported and waited for, never replaced.
func (p *Probe) watch(ctx context.Context, c *child, out func(Report)) error {
	silence := time.NewTimer(time.Until(c.heard.Add(p.patience())))
	defer silence.Stop()
	for {
		select {
		case e := <-c.events:
			if e.died != nil {
				if !c.excused() {
					out(diedReport(*e.died))
				}
				return nil
			}
			if e.garbled != nil {
				out(FailedReport(Error{Op: "read the child's report", Text: e.garbled.Error()}))
				continue
			}
			c.hear(e.report)
			silence.Reset(p.patience())
			out(e.report)
		case <-silence.C:
			out(HungReport(Hung{Call: NoAnswer, Seconds: time.Since(c.heard).Seconds()}))
			silence.Reset(p.cfg.Period)
		case <-p.polls:
			c.poll()
		case <-ctx.Done():
			return p.end(c)
		}
	}
}

// end stops a child: end of input, then SIGTERM, and SIGKILL only if by its own
// last word it is in no driver call.
func (p *Probe) end(c *child) error {
	c.stop()
	if c.gone(time.Second) {
		return nil
	}
	_ = c.signal(sigTerm) // it may end in this moment
	// Long enough for a call to miss its deadline and the child to say so.
	if c.gone(p.cfg.Deadline + time.Second) {
		return nil
	}
	if !c.mayBeInCall(p.patience()) {
		_ = c.signal(sigKill)
		if c.gone(time.Second) {
			return nil
		}
	}
	p.left = c
	return fmt.Errorf("nvml child: process %d does not end and may be inside a driver call (last word: %s)", c.pid, c.lastWord())
}

func sleep(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}
