// Package probe is the child process that has NVIDIA's management library open.
// It polls every GPU each period and writes what it finds as nvml.Report lines.
//
// Each GPU is asked in a goroutine of its own and each call has a deadline. A
// call that misses it is reported and its GPU left alone until the call returns,
// while the others go on being asked: one dead GPU hides no other, and there is
// never more than one thread stuck for a GPU. A function that an older driver
// may lack is looked up first, since calling it would end the process.
package probe

import (
	"context"
	"fmt"
	"io"
	"time"

	driver "github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/gpuhealthd/gpuhealthd/collector/nvml"
)

// Config is how often to poll, and how long a single driver call may take.
type Config struct {
	Period, Deadline time.Duration
}

// Run polls until in ends or ctx is done, which is a clean end: the library is
// shut down unless a call hangs. Every line on in asks for one poll at once. Run
// owns the process: it ends with an error when the library cannot be opened
// (reported as well) or out cannot be written, and then the process should end.
func Run(ctx context.Context, in io.Reader, out io.Writer, cfg Config) error {
	if cfg.Period <= 0 || cfg.Deadline <= 0 {
		return fmt.Errorf("probe nvml: period %v, deadline %v: both must be above zero", cfg.Period, cfg.Deadline)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	p := &probe{cfg: cfg, out: out, lib: driver.New(), polls: readPolls(in, cancel)}
	if err := p.open(ctx); err != nil || ctx.Err() != nil {
		return err
	}
	if err := p.loop(ctx); err != nil {
		return err
	}
	return p.close()
}

type probe struct {
	cfg   Config
	out   io.Writer
	lib   driver.Interface
	polls <-chan struct{}

	facts   facts
	gpus    []*gpu
	answers chan nvml.GPU // one place for each GPU: who answers late never waits
}

func (p *probe) loop(ctx context.Context) error {
	tick := time.NewTicker(p.cfg.Period)
	defer tick.Stop()
	for ctx.Err() == nil {
		began := time.Now()
		if err := p.poll(); err != nil {
			return err
		}
		if time.Since(began) >= p.cfg.Period {
			// The tick that passed meanwhile must not count a hang twice at once.
			tick.Reset(p.cfg.Period)
		}
		select {
		case <-tick.C:
		case <-p.polls:
		case late := <-p.answers: // what was stuck is free: say so at once
			p.take(late)
		case <-ctx.Done():
		}
	}
	return nil
}

// poll asks every GPU that is not stuck and reports all of them.
func (p *probe) poll() error {
	for _, g := range p.gpus {
		if !g.busy {
			g.busy = true
			q := query{lib: p.lib, has: p.facts.has, track: &g.track, gpu: g.unknown()}
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
}

func (p *probe) report() error {
	now := time.Now()
	list := make([]nvml.GPU, len(p.gpus))
	for i, g := range p.gpus {
		if g.stuck.name == "" {
			list[i] = g.last
			continue
		}
		list[i] = g.unknown()
		list[i].Stuck = g.stuck.name
		if err := p.hung(g.stuck, &list[i], now); err != nil {
			return err
		}
	}
	return nvml.InventoryReport(nvml.Inventory{
		Driver: p.facts.driver, NVML: p.facts.nvml, GPUs: list,
	}).Write(p.out)
}

// hung reports a call that is past its deadline, on a GPU or (nil) on none.
func (p *probe) hung(c call, g *nvml.GPU, now time.Time) error {
	h := nvml.Hung{Call: c.name, Seconds: c.age(now).Seconds()}
	if g != nil {
		h.Index, h.UUID = &g.Index, g.UUID
	}
	return nvml.HungReport(h).Write(p.out)
}
