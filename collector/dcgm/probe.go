package dcgm

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"time"

	"github.com/gpuhealthd/gpuhealthd/collector/child"
)

// NoAnswer is Hung.Call where the child itself says nothing any more.
const NoAnswer = "no answer"

// grace is what the child is given beyond a call's deadline to end: it does not
// wait for a call that hangs, so only the kernel can hold it.
const grace = 2 * time.Second

// Probe is the parent's side: it keeps one child running and hears it.
type Probe struct {
	cfg   Config
	start func() (*process, error)
	left  *process // outlived the last Run
	news  news
	gate  child.Gate
}

// process is a running child.
type process struct {
	*child.Child[Report]
	excused bool // its end is no news: it said why, or was told to
}

func startProcess(cfg Config) (*process, error) {
	c, err := child.Start(cfg.spec())
	if err != nil {
		return nil, err
	}
	return &process{Child: c}, nil
}

// New makes a Probe; Run starts it.
func New(cfg Config) *Probe {
	cfg = cfg.withDefaults()
	return &Probe{
		cfg:   cfg,
		start: func() (*process, error) { return startProcess(cfg) },
	}
}

// Quiet ends the child in order, so that nothing of ours has the driver open,
// and starts none until Resume. See child.Gate.
func (p *Probe) Quiet(ctx context.Context) error { return p.gate.Quiet(ctx) }

// Resume ends Quiet.
func (p *Probe) Resume() { p.gate.Resume() }

// Run keeps a child running and hands what is news to out, one at a time, until
// ctx is done; then it ends the child. Without an engine there is no child but
// for a moment, tried again after a pause of up to a minute. Run returns nil when
// no child is left, and an error that names the process when one did not end: it
// is stuck in the kernel and never killed. The next Run goes on with it. One Run
// at a time.
func (p *Probe) Run(ctx context.Context, out func(Report)) error {
	hear := func(r Report) {
		if r, ok := p.news.of(r); ok {
			out(r)
		}
	}
	return child.Keep(ctx, &p.gate, func(life context.Context) error {
		c, err := p.next()
		switch {
		case errors.Is(err, child.ErrEarlier):
			hear(HungReport(Hung{Call: NoAnswer, Child: err.Error()}))
			return nil
		case err != nil:
			hear(FailedReport(Error{Op: "start the child", Text: err.Error()}))
			return nil
		}
		return p.watch(life, c, hear, func() error { return p.end(c, ctx.Err() != nil) })
	})
}

// next gives the child that was left, or a new one.
func (p *Probe) next() (*process, error) {
	if c := p.left; c != nil {
		p.left = nil
		return c, nil
	}
	return p.start()
}

// watch hears one child to its end, or calls end when ctx is done. One that says
// nothing is reported and waited for, never replaced.
func (p *Probe) watch(ctx context.Context, c *process, hear func(Report), end func() error) error {
	patience := 2*p.cfg.Period + 2*p.cfg.Deadline
	silence := time.NewTicker(patience)
	defer silence.Stop()
	heard := time.Now()
	for {
		select {
		case e := <-c.Events:
			heard = time.Now()
			silence.Reset(patience)
			switch {
			case e.Died != nil:
				if !c.excused {
					hear(diedReport(*e.Died))
				}
				return nil
			case e.Garbled != nil:
				hear(FailedReport(Error{Op: "read the child's report", Text: e.Garbled.Error()}))
			default:
				c.excused = c.excused || e.Report.Kind == KindAbsent
				hear(e.Report)
			}
		case <-silence.C:
			hear(HungReport(Hung{Call: NoAnswer, Seconds: time.Since(heard).Seconds(),
				Child: fmt.Sprintf("process %d does not answer", c.PID)}))
		case <-ctx.Done():
			return end()
		}
	}
}

// end asks the child to end, in two ways, and leaves it where it does not, after a call's
// deadline, or sooner in a hurry.
func (p *Probe) end(c *process, hurry bool) error {
	c.excused = true
	c.Stdin.Close()
	first, then := p.cfg.Deadline+grace, grace
	if hurry {
		first, then = child.StopPatience, child.TermPatience
	}
	if gone(c, first) {
		return nil
	}
	_ = c.Signal(syscall.SIGTERM) // it may end in this moment
	if gone(c, then) {
		return nil
	}
	p.left = c
	return fmt.Errorf("dcgm child: process %d does not end: it is stuck in the kernel; %s", c.PID, child.InTheWay)
}

// gone waits for a child's end for so long.
func gone(c *process, patience time.Duration) bool {
	over := time.After(patience)
	for {
		select {
		case e := <-c.Events:
			if e.Died != nil {
				return true
			}
		case <-over:
			return false
		}
	}
}
