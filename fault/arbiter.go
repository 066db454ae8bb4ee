package fault

import (
	"time"

	"github.com/gpuhealthd/gpuhealthd/xidparse"
)

// The driver's recovery actions: nvmlDeviceGpuRecoveryAction_t in nvml.h, the
// same numbers in the text of XID 154.
const (
	recoverNone          = 0
	recoverGPUReset      = 1
	recoverNodeReboot    = 2
	recoverDrainP2P      = 3
	recoverDrainAndReset = 4
	recoverIMEXDomain    = 5
	recoverBusReset      = 6
	recoverSystemReboot  = 7
)

// arbiterAction gives what the driver asks for as an action and a reason.
func arbiterAction(target int) (Action, string) {
	switch target {
	case recoverNone:
		return None, "the driver asks for nothing (recovery action 0)"
	case recoverGPUReset:
		return Reset, "the driver asks for a GPU reset (recovery action 1)"
	case recoverNodeReboot:
		return Reboot, "the driver asks for a node reboot (recovery action 2)"
	case recoverDrainP2P:
		return Cordon, "the driver asks to drain peer traffic first (recovery action 3)"
	case recoverDrainAndReset:
		return Reset, "the driver asks to drain, then to reset (recovery action 4)"
	case recoverIMEXDomain:
		return Hold, "the driver asks to recover the IMEX domain (recovery action 5)"
	case recoverBusReset:
		return Reset, "the driver asks for a bus reset (recovery action 6)"
	case recoverSystemReboot:
		return Reboot, "the driver asks for a system reboot (recovery action 7)"
	}
	return Hold, "the driver asks for a recovery action that this agent does not know"
}

// RecoveryText says in words what a recovery action of the driver asks for.
func RecoveryText(target int) string {
	_, why := arbiterAction(target)
	return why
}

// told judges an XID 154.
func (j *Judge) told(now time.Time, o Observation, ev xidparse.Event) {
	_, target, ok := ev.Recovery()
	if !ok {
		j.fault(now, o, XIDClass(ev.Code))
		return
	}
	if j.crowded(ev.PCI) {
		return
	}
	d := j.device(ev.PCI)
	if o.Backlog && d.State != nil && d.State.Recovery != nil {
		return // the present has been asked, and outranks history
	}
	if o.Late && d.Word > o.Sequence {
		return // a later word is known
	}
	d.Told, d.Word, j.dirty = now, o.Sequence, true
	j.arbiter(now, o, ev.PCI, target, ev.Message)
}

// arbiter takes in what the driver wants now of one GPU.
func (j *Judge) arbiter(now time.Time, o Observation, pci xidparse.PCI, target int, text string) {
	d := j.device(pci)
	changed := d.Arbiter != target
	d.Arbiter = target
	asked := false
	for _, e := range j.open {
		if e.PCI != pci || !e.rule.Hardware || e.Class.IsSXid() {
			continue
		}
		if target == recoverNone {
			if cure := e.cure(); e.Asked && (cure == CureReset || cure == CureAnswersOrReset) {
				e.Cured = now
			}
			continue
		}
		e.Asked, e.Cured, e.Clean = true, time.Time{}, 0
		e.Confirmed = e.Confirmed || !o.Backlog
		asked = asked || e.Class != RecoveryAction && e.Root == nil
	}
	if target == recoverNone || asked || !changed {
		return
	}
	e := j.episode(now, pci, RecoveryAction, o)
	e.add(now, text)
	e.Asked = true
	e.Confirmed = e.Confirmed || !o.Backlog
}
