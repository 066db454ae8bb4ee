package agent

import (
	"context"
	"time"

	"github.com/gpuhealthd/gpuhealthd/collector/inventory"
	"github.com/gpuhealthd/gpuhealthd/collector/nvml"
	"github.com/gpuhealthd/gpuhealthd/fault"
)

// errMismatch is NVML_ERROR_LIB_RM_VERSION_MISMATCH in nvml.h.
const errMismatch = 18

// ask turns the child's reports into facts.
func (a *Agent) ask(ctx context.Context) func(nvml.Report) {
	return func(r nvml.Report) { a.core.tell(ctx, asked{r}) }
}

// answer handles one report of the child.
func (c *core) answer(now time.Time, r nvml.Report) {
	switch r.Kind {
	case nvml.KindInventory:
		c.answered = now
		c.memory.inventory.Update(*r.Inventory)
		c.sources.Polled, c.sources.Blind, c.silent = true, "", ""
		c.sources.GPUs = answering(*r.Inventory)
		c.step(now, fault.Inventory{Driver: r.Inventory.Driver, GPUs: append(states(*r.Inventory), c.memory.dead(*r.Inventory)...)})
	case nvml.KindHung:
		c.log.Warn("a driver call does not return", "call", r.Hung.Call, "gpu", r.Hung.UUID, "seconds", r.Hung.Seconds)
		if r.Hung.Index == nil && c.loading(now) {
			return
		}
		c.step(now, hung(*r.Hung, &c.memory.inventory))
	case nvml.KindFailed:
		c.blind(now, r.Failed.Error(), r.Failed.Code == errMismatch)
	case nvml.KindDied:
		c.log.Error("the NVML child died", "exit", r.Died.Exit, "signal", r.Died.Signal, "symbol", r.Died.Symbol, "stderr", r.Died.Stderr)
		c.blind(now, died(*r.Died), false)
	}
}

// blind takes in that the driver cannot be asked. A driver that is loading, or
// a child that is started again, is given time.
func (c *core) blind(now time.Time, why string, mismatch bool) {
	if c.silent != why {
		c.log.Warn("the driver cannot be asked", "why", why)
	}
	c.silent = why
	if mismatch || !c.loading(now) {
		c.sources.Blind = why
		c.step(now, fault.Blind{Why: why, Mismatch: mismatch})
	}
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
	case d.Signal != "":
		return "the driver library ended the child: " + d.Signal
	}
	return "the NVML child ended by itself"
}

// states gives a poll's answers in the judge's words. A GPU that was never
// identified is nobody's device, and is left out.
func states(inv nvml.Inventory) []fault.GPUState {
	var out []fault.GPUState
	for _, g := range inv.GPUs {
		if g.UUID == "" {
			continue
		}
		s := fault.GPUState{Device: fault.Device{PCI: g.PCI, UUID: g.UUID}, Lost: g.Lost, Recovery: g.Recovery}
		switch {
		case g.Stuck != "":
			s.Failed = g.Stuck + " does not return"
		case g.Error != nil && !g.Lost:
			s.Failed = g.Error.Error()
		}
		if g.Remap != nil {
			s.RemapPending, s.RemapFailed = fault.AnswerOf(&g.Remap.Pending), fault.AnswerOf(&g.Remap.Failed)
		}
		out = append(out, s)
	}
	return out
}

// answering gives the GPUs that can be counted on to have answered.
func answering(inv nvml.Inventory) []fault.Device {
	var out []fault.Device
	for _, s := range states(inv) {
		if !s.Lost && s.Failed == "" {
			out = append(out, s.Device)
		}
	}
	return out
}

// hung gives a call past its deadline in the judge's words.
func hung(h nvml.Hung, known *inventory.Map) fault.Hung {
	f := fault.Hung{Call: h.Call, For: time.Duration(h.Seconds * float64(time.Second))}
	if g, ok := known.ByUUID(h.UUID); ok {
		f.Device = fault.Device{PCI: g.PCI, UUID: g.UUID}
	}
	return f
}
