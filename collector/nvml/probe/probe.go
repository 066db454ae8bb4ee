// Package probe is the child process that has NVIDIA's management library open.
// It polls every GPU each period and writes what it finds as nvml.Report lines;
// what rarely changes it asks for in a slow period. XIDs that the driver announces
// it reports as they come.
//
// Each GPU is asked in a goroutine of its own and each call has a deadline. A
// call that misses it is reported and its GPU left alone until the call returns,
// while the others go on being asked: one dead GPU hides no other, and there is
// never more than one thread stuck for a GPU. A function is looked up before it is
// called the first time, since calling one that an older driver lacks would end
// the process.
package probe

import (
	"context"
	"fmt"
	"io"
	"time"

	driver "github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/gpuhealthd/gpuhealthd/collector/nvml"
)

// Config is how often to poll, how often to ask for the slow values as well, how
// long a single driver call may take, and where the library is looked for first.
type Config struct {
	Period, SlowPeriod, Deadline time.Duration
	LibraryPaths                 []string
}

// Run polls until in ends or ctx is done, which is a clean end. A line "poll" on in
// is a wish for a poll of everything at once. Run owns the process, whose end shuts
// the library down: it ends with an error when the library cannot be opened
// (reported as well) or out cannot be written.
func Run(ctx context.Context, in io.Reader, out io.Writer, cfg Config) error {
	if cfg.Period <= 0 || cfg.SlowPeriod <= 0 || cfg.Deadline <= 0 {
		return fmt.Errorf("probe nvml: period %v, slow period %v, deadline %v: all must be above zero",
			cfg.Period, cfg.SlowPeriod, cfg.Deadline)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	p := &probe{cfg: cfg, out: out, lib: driver.New(inFolders(cfg.LibraryPaths)...), polls: readWishes(in, cancel)}
	if err := p.open(ctx); err != nil || ctx.Err() != nil {
		return err
	}
	return p.watch(ctx)
}

type probe struct {
	cfg   Config
	out   io.Writer
	lib   driver.Interface
	polls <-chan struct{} // the parent's wishes

	// While the library is open.
	session session
	gpus    []*gpu
	answers chan nvml.GPU // one place for each GPU: who answers late never waits
	events  *events
	slowAt  time.Time // when the slow values are due
}

// watch polls until ctx is done.
func (p *probe) watch(ctx context.Context) error {
	tick := time.NewTicker(p.cfg.Period)
	defer tick.Stop()
	p.slowAt = time.Now()
	for {
		began := time.Now()
		if err := p.poll(); err != nil {
			return err
		}
		if time.Since(began) >= p.cfg.Period {
			// The tick that passed meanwhile must not count a hang twice at once.
			tick.Reset(p.cfg.Period)
		}
		if done, err := p.wait(ctx, tick.C); done || err != nil {
			return err
		}
	}
}

// wait returns when a poll is due, or is done when ctx is.
func (p *probe) wait(ctx context.Context, tick <-chan time.Time) (done bool, err error) {
	for {
		select {
		case <-tick:
			return false, nil
		case <-p.polls:
			p.slowAt = time.Now()
			return false, nil
		case late := <-p.answers: // what was stuck is free: say so at once
			p.take(late)
			return false, nil
		case x := <-p.events.heard:
			if err := x.report(p.gpus[x.index].last.UUID).Write(p.out); err != nil {
				return false, err
			}
		case <-ctx.Done():
			return true, nil
		}
	}
}

// poll asks every GPU that is not stuck and reports all of them.
func (p *probe) poll() error {
	if now := time.Now(); !now.Before(p.slowAt) {
		p.slowAt = now.Add(p.cfg.SlowPeriod)
		for _, g := range p.gpus {
			g.due = true
		}
	}
	for _, g := range p.gpus {
		if !g.busy {
			q := g.query(p.session.library)
			go func() { p.answers <- q.ask() }()
		}
	}
	p.collect()
	return p.report()
}

// collect returns when every GPU has answered or is past a call's deadline.
func (p *probe) collect() {
	for {
		wait, pending := p.markStuck(time.Now())
		if !pending {
			return
		}
		select {
		case a := <-p.answers:
			p.take(a)
		case <-time.After(wait):
		}
	}
}

// markStuck says whether a GPU is yet to answer in time, and when the first of
// those may be late.
func (p *probe) markStuck(now time.Time) (wait time.Duration, pending bool) {
	wait = p.cfg.Deadline
	for _, g := range p.gpus {
		g.stuck = call{}
		if !g.busy {
			continue
		}
		in := g.track.current()
		left := p.cfg.Deadline - in.age(now)
		if in.name != "" && left <= 0 {
			g.stuck = in
			continue
		}
		pending = true
		wait = min(wait, left)
	}
	return wait, pending
}

func (p *probe) take(answer nvml.GPU) {
	g := p.gpus[answer.Index]
	g.busy, g.stuck, g.last = false, call{}, answer
	g.due = g.due || answer.Error != nil // what is slow was not asked for, or is of before
}

func (p *probe) report() error {
	now := time.Now()
	inv := nvml.Inventory{Driver: p.session.driver, NVML: p.session.nvml, GPUs: make([]nvml.GPU, len(p.gpus))}
	aside := p.events.late(now, p.cfg.Deadline)
	if aside.name != "" && aside.gpu == noGPU {
		inv.Stuck = aside.hung(now)
	}
	for i, g := range p.gpus {
		stuck := g.stuck
		if stuck.name == "" && aside.gpu == i {
			stuck = aside
		}
		if stuck.name == "" {
			inv.GPUs[i] = g.last
			continue
		}
		inv.GPUs[i] = g.unknown()
		inv.GPUs[i].Stuck = stuck.name
		h := stuck.hung(now)
		h.Index, h.UUID = &inv.GPUs[i].Index, inv.GPUs[i].UUID
		if err := nvml.HungReport(*h).Write(p.out); err != nil {
			return err
		}
	}
	inv.Calls, inv.Fields = p.session.calls.take(), p.session.fields.take()
	return nvml.InventoryReport(inv).Write(p.out)
}

// hung reports the call as one that is past its deadline, on no GPU.
func (c call) hung(now time.Time) *nvml.Hung {
	return &nvml.Hung{Call: c.name, Seconds: c.age(now).Seconds()}
}
