package fault

import (
	"cmp"
	"fmt"
	"time"

	"github.com/gpuhealthd/gpuhealthd/ecc"
	"github.com/gpuhealthd/gpuhealthd/xidparse"
)

// findings gives what a poll shows of a GPU's memory its class, and words where
// those of the class do not fit.
var findings = []struct {
	found ecc.Finding
	class Class
	text  string
}{
	{ecc.RowsFailed, RemapFailed, ""},
	{ecc.PagesExhausted, RemapFailed, "page retirement: too many pages are retired"},
	{ecc.RowsPending, RemapPending, ""},
	{ecc.PagesPending, RemapPending, "page retirement: a page is pending"},
	{ecc.NewDoubleBit, XID48, ""},
	{ecc.StormRages, ECCStorm, ""},
	{ecc.SRAMThreshold, SRAMThreshold, ""},
	{ecc.SparesLow, SparesLow, ""},
	{ecc.Unreadable, ECCUnreadable, ""},
}

// memory judges what one poll says of a GPU's memory. That no GPU answers for it
// is no GPU's fault.
func (j *Judge) memory(now time.Time, d *device, g GPUState, none bool) {
	g.Memory.Error = g.Memory.Error && !none
	found := d.Memory.Read(now, g.Memory)
	if found&ecc.Restarted != 0 {
		j.counted(now, g.PCI)
	}
	for _, f := range findings {
		if found&f.found != 0 {
			e := j.shown(now, g.PCI, f.class)
			e.explain(f.text)
			if f.class == ECCStorm {
				e.worst(d.Memory.Storm.Peak)
			}
		}
	}
}

// counted takes in that the counters of a GPU began anew: it was reset, or the
// driver was loaded again.
func (j *Judge) counted(now time.Time, pci xidparse.PCI) {
	j.device(pci).Links.retrain(now)
	j.wasReset(now, pci)
	for _, e := range j.open {
		if c := RuleFor(e.Class).Cure; e.PCI == pci && (c == CureReset || c == CureAnswersOrReset) && e.Cured.IsZero() && now.Sub(e.Last) > j.cfg.Fresh {
			e.Cured, e.Repaired = now, true
		}
	}
}

// worst keeps the highest rate of a storm as its evidence: idle is not healed.
func (e *episode) worst(perSecond float64) {
	if perSecond > e.Peak {
		e.Peak = perSecond
		e.Evidence = []string{fmt.Sprintf("%.0f corrected errors a second at the worst", perSecond)}
	}
}

// slowdown judges what holds a GPU down. A moment of it is nothing.
func (j *Judge) slowdown(now time.Time, d *device, g GPUState) {
	busy := g.Memory.Busy != nil && *g.Memory.Busy
	narrow := busy && (g.Width > 0 && g.Width < g.MaxWidth || g.Generation > 0 && g.Generation < g.MaxGeneration)
	limit := g.Heat.limit()
	if d.Hot.read(now, j.cfg.Slowdown, g.Slowed.Thermal || limit != "") {
		j.shown(now, g.PCI, Thermal).explain(cmp.Or(limit, "its clocks are held down"))
	}
	if d.Braked.read(now, j.cfg.Slowdown, g.Slowed.PowerBrake) {
		j.shown(now, g.PCI, PowerBrake)
	}
	if d.Narrow.read(now, j.cfg.Slowdown, narrow) {
		j.shown(now, g.PCI, PCIeDegraded).explain(fmt.Sprintf("%d of %d lanes, generation %d of %d", g.Width, g.MaxWidth, g.Generation, g.MaxGeneration))
	}
	if many := d.Replays.read(now, g.Replays); many != "" {
		j.shown(now, g.PCI, PCIeDegraded).explain(many)
	}
}

// bus compares what the PCI bus lists with what the driver does. A GPU that is
// bound to another driver is passed through to a guest, and is not lost.
func (j *Judge) bus(now time.Time, inv Inventory, listed map[xidparse.PCI]bool) {
	for _, b := range inv.Bus {
		if b.Driver != "nvidia" && j.devices[b.PCI] == nil {
			continue
		}
		d := j.device(b.PCI)
		d.Witness = &b
		if listed[b.PCI] || b.Driver != "nvidia" {
			d.Missing = 0
			j.seen(now, key{pci: b.PCI, class: GPUCountShort})
			continue
		}
		if d.Missing++; d.Missing >= lostLimit {
			j.shown(now, b.PCI, GPUCountShort)
		}
	}
	if short := j.cfg.Expect - len(inv.GPUs); short > 0 {
		if j.short++; j.short >= lostLimit {
			e := j.shown(now, xidparse.PCI{}, GPUCountShort)
			e.Evidence = []string{fmt.Sprintf("%d of %d", len(inv.GPUs), j.cfg.Expect)}
		}
		return
	}
	j.short = 0
	j.seen(now, key{class: GPUCountShort})
}

// witness says what the PCI bus thinks of a GPU that is said to be off it.
func (d *device) witness() string {
	switch {
	case d == nil || d.Witness == nil:
		return ""
	case d.Witness.Dead:
		return "its PCI configuration space reads all ones"
	}
	return "but its PCI configuration space still answers"
}
