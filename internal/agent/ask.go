package agent

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
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
		c.hangs(stuck(*r.Inventory))
		c.step(now, fault.Inventory{Driver: r.Inventory.Driver, GPUs: append(states(*r.Inventory), c.memory.dead(*r.Inventory)...)})
	case nvml.KindHung:
		if r.Hung.Index != nil || c.unanswered(now, r.Hung.Call+" does not return") {
			c.step(now, hung(*r.Hung, &c.memory.inventory))
		}
	case nvml.KindFailed:
		c.blind(now, r.Failed.Error(), r.Failed.Code == errMismatch)
	case nvml.KindDied:
		c.log.Error("the NVML child died", "exit", r.Died.Exit, "signal", r.Died.Signal, "symbol", r.Died.Symbol, "stderr", r.Died.Stderr)
		c.blind(now, died(*r.Died), false)
	}
}

// blind takes in that the driver cannot be asked.
func (c *core) blind(now time.Time, why string, mismatch bool) {
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

// hangs takes in the calls on single GPUs that do not return, and tells them
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

// stuck names the calls on single GPUs that do not return.
func stuck(inv nvml.Inventory) (calls []string) {
	for _, g := range inv.GPUs {
		if g.Stuck != "" {
			calls = append(calls, fmt.Sprintf("%s on %s", g.Stuck, cmp.Or(g.UUID, "GPU "+strconv.Itoa(g.Index))))
		}
	}
	return calls
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
