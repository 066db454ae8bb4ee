package fault

import (
	"time"

	"github.com/gpuhealthd/gpuhealthd/xidparse"
	"github.com/gpuhealthd/gpuhealthd/xidparse/services"
)

// imex takes in what systemd says of IMEX, by which trays of a rack lend each other
// memory. Whether its end is a fault, polls decide.
func (j *Judge) imex(now time.Time, ev services.Event) {
	switch ev.Kind {
	case services.KindFailed:
		j.imexDead = true
	case services.KindStarted:
		j.imexDead = false
		if e := j.open[key{class: IMEXDown}]; e != nil {
			e.Cured = now
		}
	case services.KindNone, services.KindMismatch, services.KindNoSwitch, services.KindTrouble:
	}
}

// lending judges an IMEX that does not run. It is missed only in a rack, and only
// while programs use its GPUs: an idle tray may be without for weeks.
func (j *Judge) lending(now time.Time, inv Inventory) {
	if !j.imexDead || !j.shape().MultiNode() {
		return
	}
	for _, g := range inv.GPUs {
		if g.Processes != nil && *g.Processes > 0 && completed(j.fabricOf(g.PCI)) {
			j.shown(now, xidparse.PCI{}, IMEXDown)
			return
		}
	}
}
