package agent

import (
	"context"
	"slices"
	"time"

	"github.com/gpuhealthd/gpuhealthd/collector/nvml"
	"github.com/gpuhealthd/gpuhealthd/collector/pci"
	"github.com/gpuhealthd/gpuhealthd/fault"
)

// errMismatch is NVML_ERROR_LIB_RM_VERSION_MISMATCH in nvml.h, errUnknown
// NVML_ERROR_UNKNOWN.
const (
	errMismatch = 18
	errUnknown  = 999
)

// ask turns the child's reports into facts.
func (a *Agent) ask(ctx context.Context) func(nvml.Report) {
	return func(r nvml.Report) {
		m := asked{report: r}
		if a.opts.Bus != nil && r.Kind != nvml.KindXID {
			m.bus, m.busError = a.opts.Bus()
		}
		a.core.tell(ctx, m)
	}
}

// answer handles one report of the child.
func (c *core) answer(now time.Time, m asked) {
	c.scanned(m)
	c.witness.report(now, m.report)
	switch r := m.report; r.Kind {
	case nvml.KindHello:
		c.opened(now, *r.Hello)
	case nvml.KindInventory:
		if c.nobody(*r.Inventory) {
			c.blind(now, "no GPU tells who it is", false)
			return
		}
		c.listed(now, *r.Inventory, m.bus)
	case nvml.KindXID:
		c.echoes.announce(now, *r.XID, &c.memory.inventory)
	case nvml.KindHung:
		// One of a GPU without a name is in the poll that follows.
		if r.Hung.UUID != "" || r.Hung.Index == nil && c.unanswered(now, silence(*r.Hung)) {
			c.step(now, hung(*r.Hung, &c.memory.inventory))
		}
	case nvml.KindFailed:
		c.blind(now, r.Failed.Error(), r.Failed.Code == errMismatch)
	case nvml.KindDied:
		c.metrics.restarts.WithLabelValues("nvml").Inc()
		c.log.Error("the NVML child died", "exit", r.Died.Exit, "signal", r.Died.Signal, "symbol", r.Died.Symbol, "stderr", r.Died.Stderr)
		c.blind(now, died(*r.Died), false)
	}
}

// opened takes in which library the child has opened, and what that lacks.
func (c *core) opened(now time.Time, h nvml.Hello) {
	c.greeted, c.reopened = now, c.renewed
	if c.lacks = h.Lacks; len(h.Lacks) > 0 {
		c.log.Warn("the driver's library lacks functions", "driver", h.Driver, "library", h.NVML, "lacks", h.Lacks)
	}
}

// listed takes in one whole poll.
func (c *core) listed(now time.Time, inv nvml.Inventory, bus []pci.Device) {
	c.answered, c.version = now, inv.Driver
	c.polls++
	c.tied(now, c.memory.inventory.Update(inv))
	c.listedGPUs.Store(&inv.GPUs)
	c.sources.Polled, c.sources.Blind, c.silent = true, "", ""
	c.sources.GPUs = answering(inv)
	c.hangs(stuck(inv))
	c.failing = erring(inv)
	c.metrics.asked(inv)
	blind := len(c.sources.GPUs) == 0
	c.renewed, c.reopened = c.renewed && blind, c.reopened && blind
	named, unnamed := c.unnamed(now, inv)
	for _, g := range named {
		if g.Stuck {
			c.step(now, fault.Hung{Device: g.Device, Call: g.Failed})
		}
	}
	f := fault.Inventory{Driver: inv.Driver, GPUs: append(states(now, inv), named...), Unnamed: unnamed, Renewed: c.reopened}
	if inv.Stuck != nil {
		h := hung(*inv.Stuck, &c.memory.inventory)
		f.Stuck = &h
	}
	if len(named) == 0 { // else it is one of those
		for _, g := range c.memory.missing(inv) {
			f.Missing = append(f.Missing, fault.Device{PCI: g.PCI, UUID: g.UUID})
		}
	}
	for _, d := range bus {
		f.Bus = append(f.Bus, fault.BusDevice{PCI: d.PCI, Driver: d.Driver, Dead: d.Dead})
	}
	c.linked(inv)
	c.plan.Sources(now, c.sources) // a fault that ends by another part is over with that
	c.step(now, f)
	c.manages(now)
	c.verified(now, inv)
	if c.judge.Blind() {
		c.unseeing()
	}
}

// unseeing takes in that every GPU failed at once: our container has most likely
// lost its devices. Another child opens them anew, and is tried once.
func (c *core) unseeing() {
	c.sources.Blind = "every GPU failed at once"
	c.silent = c.sources.Blind
	if !c.renewed {
		c.log.Warn("every GPU failed at once: the NVML child is started anew")
		c.restart()
	}
	c.renewed = true
}

// scanned takes in what the PCI bus lists. A node that has no GPU, never had one
// and need not have one has no driver to be blind to.
func (c *core) scanned(m asked) {
	if m.busError != nil && !c.busFailed {
		c.log.Warn("the PCI bus cannot be read", "error", m.busError)
	}
	c.busFailed = m.busError != nil
	if c.opts.Bus != nil && m.report.Kind != nvml.KindXID {
		c.gpuless = m.busError == nil && len(m.bus) == 0 && len(c.memory.inventory.GPUs()) == 0 && c.opts.Judge.Expect == 0
	}
}

// blind takes in that the driver cannot be asked.
func (c *core) blind(now time.Time, why string, mismatch bool) {
	if c.gpuless && !mismatch {
		c.silent = "no GPU of NVIDIA's on the PCI bus: nothing to watch"
		return
	}
	if c.unanswered(now, why) || mismatch {
		c.sources.Blind = why
		c.step(now, fault.Blind{Why: why, Mismatch: mismatch})
	}
}

// unanswered takes in why the driver as a whole does not answer, and says
// whether that has lasted: one that is loading, or a child that is started
// again, is given time.
func (c *core) unanswered(now time.Time, why string) bool {
	if c.silent != why {
		c.log.Warn("the driver cannot be asked", "why", why)
	}
	c.silent = why
	if c.loading(now) {
		return false
	}
	c.sources.Blind = why
	return true
}

// silence says what does not answer where the driver as a whole does not.
func silence(h nvml.Hung) string {
	if h.Call == nvml.NoAnswer {
		return "the NVML child: " + h.Child
	}
	return h.Call + " does not return"
}

// hangs takes in the calls that do not return while polls do, and tells them
// when they have changed.
func (c *core) hangs(calls []string) {
	if !slices.Equal(calls, c.stuck) {
		c.log.Warn("driver calls that do not return", "calls", calls)
	}
	c.stuck = calls
}

// loading says whether the driver may still be on its way: it was not asked in
// vain for long enough to be called blind or hung as a whole.
func (c *core) loading(now time.Time) bool {
	since := c.answered
	if since.IsZero() {
		since = c.began
	}
	return now.Sub(since) < c.opts.Grace
}

func (c *core) step(now time.Time, f fault.Fact) {
	c.verdicts(now, c.judge.Step(now, fault.Observation{Fact: f}))
}

func died(d nvml.Died) string {
	switch {
	case d.Symbol != "":
		return "the driver library lacks " + d.Symbol
	case d.Signal == "SIGKILL" || d.Signal == "SIGTERM": // no library does that
		return "the NVML child was ended from outside: " + d.Signal
	case d.Signal != "":
		return "the driver library ended the child: " + d.Signal
	}
	return "the NVML child ended by itself"
}
