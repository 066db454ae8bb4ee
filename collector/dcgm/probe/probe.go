// Package probe is the child process that has DCGM's library open. It connects
// to an engine, sets its watches, and each period writes what the engine's
// health check and cache say as dcgm.Report lines.
//
// One goroutine makes all calls, one after the other: the library has one
// connection, and no call of it can be given up. Another goroutine says so when a
// call is past its deadline. No call is made before the library is loaded and
// connected: one made earlier would end the process.
//
// A connection that is lost ends the process after saying so. To begin again is
// to start it again: the library keeps one connection in global variables, and
// unloads itself under its own threads when one that broke is closed.
package probe

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/gpuhealthd/gpuhealthd/collector/dcgm"
)

// Config is whom to ask, and how.
type Config struct {
	// Address is an engine's HOST:PORT, or the path of its unix socket, which
	// begins with "/" or "unix://". Not read when Embedded.
	Address string
	// Embedded starts an engine in this process, which then has the driver open.
	Embedded bool
	// Profiling watches the profiling fields too.
	Profiling bool
	// Period is between two polls, Deadline for one call.
	Period, Deadline time.Duration
}

func (cfg Config) check() error {
	switch {
	case cfg.Period <= 0 || cfg.Deadline <= 0:
		return fmt.Errorf("probe dcgm: period %v, deadline %v: both must be above zero", cfg.Period, cfg.Deadline)
	case cfg.Address == "" && !cfg.Embedded:
		return errors.New("probe dcgm: address is empty")
	}
	return nil
}

// Run polls until in ends or ctx is done, which is a clean end: the connection
// is closed unless a call hangs. Run owns the process: it ends with an error
// when there is no connection, or none any more (reported as well), or when out
// cannot be written, and then the process should end.
func Run(ctx context.Context, in io.Reader, out io.Writer, cfg Config) error {
	if err := cfg.check(); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		defer cancel()
		_, _ = io.Copy(io.Discard, in) // its end is all that counts
	}()
	p := &probe{cfg: cfg, out: out, reports: make(chan dcgm.Report), done: make(chan error, 1)}
	s := newSession(cfg, p.reports)
	p.calls = s.calls
	go func() { p.done <- s.run(ctx) }()
	return p.report(ctx)
}

// probe writes what the session says, and what it cannot say itself.
type probe struct {
	cfg     Config
	out     io.Writer
	calls   *calls
	reports chan dcgm.Report
	done    chan error
}

func (p *probe) report(ctx context.Context) error {
	tick := time.NewTicker(p.cfg.Deadline)
	defer tick.Stop()
	var patience <-chan time.Time
	ending := ctx.Done()
	for {
		select {
		case r := <-p.reports:
			if err := r.Write(p.out); err != nil {
				return err
			}
		case now := <-tick.C:
			if err := p.hung(now); err != nil {
				return err
			}
		case err := <-p.done:
			return err
		case <-ending:
			ending, patience = nil, time.After(p.cfg.Deadline)
		case <-patience:
			return nil // a call hangs: the end of the process has to do
		}
	}
}

func (p *probe) hung(now time.Time) error {
	c := p.calls.current()
	if c.name == "" || now.Sub(c.since) < p.cfg.Deadline {
		return nil
	}
	return dcgm.HungReport(dcgm.Hung{Call: c.name, Seconds: now.Sub(c.since).Seconds()}).Write(p.out)
}
