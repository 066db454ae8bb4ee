package fault

import (
	"time"

	"github.com/gpuhealthd/gpuhealthd/xidparse"
	"github.com/gpuhealthd/gpuhealthd/xidparse/services"
)

// service judges what a service of the driver says of itself. The fabric
// manager's failure is a fault of the node: without it no NVLink comes up where
// there are switches. A tray of a rack has none to manage. The other services' words are recorded elsewhere, and
// judged by what they lead to.
func (j *Judge) service(now time.Time, ev services.Event) {
	if ev.Unit == services.IMEX {
		j.imexService(now, ev)
	}
	if ev.Unit != services.FabricManager {
		return
	}
	switch ev.Kind {
	case services.KindNoSwitch:
		j.switchless = true // and its failure, which follows, is none
	case services.KindMismatch, services.KindFailed:
		if !j.switchless && !j.shape().MultiNode() {
			e := j.shown(now, xidparse.PCI{}, FabricManagerDead)
			e.Unreset = nil
			if len(e.Evidence) < evidenceLines {
				e.Evidence = append(e.Evidence, ev.Text)
			}
		}
	case services.KindStarted:
		j.switchless, j.managed = false, true
		if e := j.open[key{class: FabricManagerDead}]; e != nil {
			j.managerBack(now, e)
		}
	case services.KindNone, services.KindTrouble:
	}
}

// running counts a poll towards the end of a service's fault, once that was
// started again.
func (j *Judge) running() {
	for _, c := range []Class{FabricManagerDead, IMEXDown} {
		if e := j.open[key{class: c}]; e != nil && !e.Cured.IsZero() {
			e.Clean++
		}
	}
}
