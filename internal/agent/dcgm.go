package agent

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/gpuhealthd/gpuhealthd/collector/dcgm"
	"github.com/gpuhealthd/gpuhealthd/fault"
	"github.com/gpuhealthd/gpuhealthd/nvlink"
)

// Engine asks DCGM; nil where nobody does.
type Engine interface {
	Run(ctx context.Context, out func(dcgm.Report)) error
}

// consulted is one report of DCGM's child.
type consulted struct{ report dcgm.Report }

func (consulted) isMessage() {}

// EngineStatus says how DCGM is asked. Without it a second opinion is missing,
// and nothing else.
type EngineStatus struct {
	Enabled bool `json:"enabled"`
	// Version is the engine's, empty while there is no connection.
	Version string `json:"version,omitempty"`
	// Absent is why there is none.
	Absent string `json:"absent,omitempty"`
}

// opinions is what DCGM holds at present, so that only a change is told.
type opinions map[opinion]bool

type opinion struct {
	uuid  string
	class fault.Class
}

// The numbers of DCGM's health codes (dcgm_errors.h, DCGM_FR_…) and fields
// (dcgm_fields.h) that the judge has a class for.
var healthClasses = map[int]fault.Class{
	4: fault.XID48, 6: fault.RemapPending, 7: fault.RemapFailed, 8: fault.RemapFailed, 83: fault.RemapPending, 80: fault.RemapFailed, 118: fault.SRAMThreshold,
	125: fault.RecoveryAction, 126: fault.RecoveryAction, 127: fault.RecoveryAction, 128: fault.RecoveryAction,
	// Its own limits on errors of NVLinks. That one is down, and how the fabric is, the
	// driver tells, with the time that training takes.
	13: fault.NVLinkDegrading, 70: fault.NVLinkDegrading, 71: fault.NVLinkDegrading, 119: fault.NVLinkDegrading, 121: fault.NVLinkDegrading,
}

var systemClasses = map[string]fault.Class{"thermal": fault.Thermal, "power": fault.PowerBrake, "pcie": fault.PCIeDegraded}

// consult takes in one report of DCGM.
func (c *core) consult(now time.Time, r dcgm.Report) {
	switch r.Kind {
	case dcgm.KindUp:
		c.engine.Version = r.Up.Engine
		c.opines("")
	case dcgm.KindAbsent:
		c.engineAway(now, r.Absent.Error.Error())
	case dcgm.KindDied:
		c.metrics.restarts.WithLabelValues("dcgm").Inc()
		c.engineAway(now, "the DCGM child ended by itself")
	case dcgm.KindHung:
		// A slow engine is not a hung driver: it stalls on a GPU that only degrades.
		why := r.Hung.Call + " does not return"
		if r.Hung.Call == dcgm.NoAnswer {
			why = "the DCGM child: " + r.Hung.Child
		}
		c.opines(why)
	case dcgm.KindHealth:
		c.hold(now, &c.health, healthOpinions(*r.Health))
		c.unjudged(*r.Health)
	case dcgm.KindValues:
		if len(r.Values.GPUs) > 0 { // a call that did not return has
			c.opines("")
		} else {
			c.opines("the engine lists no GPU") // and calls all of them healthy
		}
		c.hold(now, &c.values, valueOpinions(*r.Values))
		for _, g := range r.Values.GPUs {
			c.dcgmXID(g)
		}
		c.dcgmIMEX(now, r.Values.GPUs)
	case dcgm.KindViolation:
		v := r.Violation
		c.log.Info("DCGM tells a violation", "condition", v.Condition, "value", v.Value, "gpu", v.UUID, "at", v.At)
	case dcgm.KindFailed:
		c.log.Info("a call of DCGM failed", "error", r.Failed.Error())
	}
}

// opines takes in why there is no second opinion, empty where there is, and tells
// a change of that.
func (c *core) opines(why string) {
	switch was := c.engine.Absent; {
	case why == was:
	case why == "":
		c.log.Info("DCGM gives a second opinion again", "engine", c.engine.Version)
	default:
		c.log.Info("no second opinion by DCGM", "why", why)
	}
	c.engine.Absent = why
}

// engineAway drops what DCGM held: nobody holds it now.
func (c *core) engineAway(now time.Time, why string) {
	c.engine.Version = ""
	c.opines(why)
	c.hold(now, &c.health, nil)
	c.hold(now, &c.values, nil)
	c.dcgmIMEX(now, nil)
}

// hold tells the judge what is new among DCGM's opinions, and what is gone.
func (c *core) hold(now time.Time, had *opinions, texts map[opinion]string) {
	tell := func(o opinion, text string, holds bool) {
		if g, ok := c.memory.inventory.ByUUID(o.uuid); ok {
			c.step(now, fault.Opinion{Witness: "DCGM", Device: fault.Device{PCI: g.PCI, UUID: g.UUID}, Class: o.class, Text: text, Holds: holds})
		}
	}
	have := opinions{}
	for _, o := range sorted(texts) {
		if have[o] = true; !(*had)[o] {
			tell(o, texts[o], true)
		}
	}
	for _, o := range sorted(*had) {
		if !have[o] {
			tell(o, "", false)
		}
	}
	*had = have
}

// healthOpinions leaves out what an XID made: it stays until the engine is
// restarted, and says nothing of now. DCGM's text is left out too: it may name
// another GPU.
func healthOpinions(h dcgm.Health) map[opinion]string {
	found := map[opinion]string{}
	for _, i := range h.Incidents {
		if class, ok := healthClass(i); ok && !i.Sticky && i.UUID != "" {
			found[opinion{i.UUID, class}] = fmt.Sprintf("the health check of its %s finds %d, %s", i.System, i.Code, i.Result)
		}
	}
	return found
}

func healthClass(i dcgm.Incident) (class fault.Class, ok bool) {
	if class, ok = healthClasses[i.Code]; !ok {
		class, ok = systemClasses[i.System]
	}
	return class, ok
}

// unjudged tells what a health check finds of which no opinion is made: of a switch, of
// the fabric, of IMEX.
func (c *core) unjudged(h dcgm.Health) {
	for _, i := range h.Incidents {
		if _, ok := healthClass(i); ok && i.UUID != "" || i.Sticky {
			continue
		}
		c.log.Info("DCGM's health check finds", "system", i.System, "code", i.Code, "result", i.Result, "of", fmt.Sprintf("%s %d", i.Group, i.ID), "gpu", i.UUID)
	}
}

func valueOpinions(v dcgm.Values) map[opinion]string {
	found := map[opinion]string{}
	for _, g := range v.GPUs {
		for _, f := range []struct {
			says  bool
			class fault.Class
			text  string
		}{
			{g.Lost, fault.GPULost, "the engine has lost the GPU"},
			{g.Fields[dcgm.FieldRemapFailed] > 0, fault.RemapFailed, "a row remapping failed"},
			{g.Fields[dcgm.FieldRemapPending] > 0, fault.RemapPending, "a row waits to be remapped"},
			{g.Fields[dcgm.FieldRecoveryAction] > 0, fault.RecoveryAction, "a recovery action is pending"},
		} {
			if f.says && g.UUID != "" {
				found[opinion{g.UUID, f.class}] = f.text
			}
		}
	}
	return found
}

// dcgmXID only tells the engine's last XID. DCGM may have read it from the
// kernel log, user space's forgeries included: the kernel's own word, or NVML's,
// is what is acted on.
func (c *core) dcgmXID(g dcgm.GPU) {
	if g.XID != nil && g.XID.At.After(c.began) {
		c.log.Info("DCGM tells an XID", "code", g.XID.Code, "gpu", g.UUID)
	}
}

// dcgmIMEX tells the judge what the engine says of IMEX, on a node of an NVLink domain.
// No GPU is an engine that does not say.
func (c *core) dcgmIMEX(now time.Time, gpus []dcgm.GPU) {
	if c.sources.Domain == "" {
		return
	}
	m := fault.IMEX{Witness: "DCGM"}
	for _, g := range gpus {
		if number, ok := g.Fields[dcgm.FieldIMEXDaemon]; ok {
			m.State = nvlink.IMEXNumber(int(number))
		}
	}
	c.step(now, m)
}

func sorted[V any](m map[opinion]V) []opinion {
	return slices.SortedFunc(maps.Keys(m), func(a, b opinion) int {
		return cmp.Or(cmp.Compare(a.uuid, b.uuid), cmp.Compare(a.class, b.class))
	})
}
