package fault

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/gpuhealthd/gpuhealthd/ecc"
	"github.com/gpuhealthd/gpuhealthd/nvlink"
	"github.com/gpuhealthd/gpuhealthd/xidparse"
)

// verdict says what is held of an episode now. The rule comes first, then the
// text refines it, then the arbiter, then the root, then the want of proof.
func (j *Judge) verdict(e *episode) Verdict {
	r := &e.rule
	v := Verdict{
		ID: e.ID, Class: e.Class, Radius: r.Radius, Action: r.Action, Later: r.Later,
		Diag: r.Diag, Hard: r.Hard, Drain: r.Drain, Hardware: r.Hardware,
		Count: e.Count, Opened: e.Opened, Evidence: slices.Clone(e.Evidence),
	}
	why := []string{e.title()}
	if w := j.devices[e.PCI].witness(); w != "" && (e.Class == XID79 || e.Class == GPULost) {
		why = append(why, w)
	}
	why = append(why, refineSeen(e)...)
	why = append(why, j.refineServed(e, &v)...)
	why = append(why, refineMemory(e, &v)...)
	why = append(why, refineAskers(e)...)
	why = append(why, refineSuspect(e, &v)...)
	why = append(why, j.refineLink(e, &v)...)
	why = append(why, j.refineLink5(e, &v)...)
	why = append(why, refineState(e, &v)...)
	why = append(why, j.refineArbiter(e, &v)...)
	why = append(why, j.refineRack(e, &v)...)
	if e.Class.IsSXid() && (e.Severity == xidparse.SeverityNonfatal || e.Severity == xidparse.SeverityCorrectable) {
		v.Action = Record
	}
	if e.ofNode() {
		v.Radius = Node
		why = append(why, j.refineManager(e, &v)...)
		if e.Class == GPUCountShort {
			why = []string{strings.Join(append([]string{"the driver lists fewer GPUs than the node must have"}, e.Evidence...), ": ")}
		}
		why = append(why, refineNameless(e, &v)...)
	}
	if e.Repeat && (v.Action == Reset || v.Action == Reboot) {
		why = append(why, repeats(e))
	}
	if !e.Cured.IsZero() && v.Acts() {
		if v.Action == Diag {
			v.Later = Diag // it still has to bear the cure out
		}
		v.Action = Cordon
		why = append(why, cmp.Or(e.How, e.cure().String())+": watched until it has stayed so")
	}
	j.reach(e, &v)
	if e.Class == GPUCountShort && len(v.GPUs) > 0 && v.GPUs[0].UUID == "" {
		v.Action, v.Hard, v.Drain, v.Diag = Hold, false, DrainNever, 0
		why = append(why, "nor has it since this agent knows the node: it may be hidden on purpose")
	}
	if root := j.rootOf(e); root != nil {
		v.Root = root.ID
		v.Action, v.Later, v.Drain, v.Diag, v.Hard = Record, None, DrainNever, 0, false
		why = []string{e.title(), "a symptom of " + string(root.Class)}
	} else if !e.Confirmed && v.Action > Record {
		v.Action, v.Later, v.Drain, v.Diag, v.Hard = Record, None, DrainNever, 0, false
		if e.Witness != "" {
			why = append(why, "held by "+e.Witness+" alone")
		} else {
			why = append(why, "older than this agent, and the present does not confirm it")
		}
	}
	v.Reason = strings.Join(why, "; ")
	return v
}

// repeats says what was here before.
func repeats(e *episode) string {
	if e.AfterRepair {
		return "the same was repaired here before"
	}
	return "the same was here before"
}

// title names the fault, by its class and what its lines say.
func (e *episode) title() string {
	switch {
	case e.Class == RemapPending && e.retires():
		return "a page waits to be retired, as before Ampere"
	case e.Class == XID64 && e.retires():
		return "page retirement failed, as before Ampere"
	case e.Class == RemapFailed && e.retires():
		return "too many pages are retired, as before Ampere"
	case e.Class == FabricManagerDead && (len(e.Unreset) > 0 || !e.Cured.IsZero() || e.Rebooted):
		return "the fabric manager did not run"
	case e.Class == LinksDown && e.Watched:
		return "NVLinks were down"
	case e.Class == FabricUnhealthy && e.Watched:
		return "the GPU was not in order in its NVLink fabric"
	case e.Link5 != nil && e.Link5.BitErrors:
		return "NVLink 5: a link sees bit errors"
	}
	return e.rule.Title
}

// retires says whether the first line is of page retirement, which GPUs before
// Ampere have in place of row remapping.
func (e *episode) retires() bool {
	return len(e.Evidence) > 0 && strings.Contains(strings.ToLower(e.Evidence[0]), "page retirement")
}

// refineNameless holds what no GPU can be blamed for.
func refineNameless(e *episode, v *Verdict) []string {
	why := "the text names no GPU, and none is guessed"
	switch {
	case e.Unnamed != "":
		v.Later, v.Drain, v.Diag = None, min(v.Drain, DrainWhenIdle), 0
		return []string{e.Unnamed + ", of a GPU that has not told who it is"}
	case e.Class == GPUFailed:
		why = "on every GPU, and none is blamed"
	case e.Class == DriverHung && !e.Polled && e.Aside != "":
		why = e.Aside + ", while the polls go on"
	case e.Class != GSPTimeout && (e.Class != DriverHung || e.Polled):
		return nil
	}
	v.Action, v.Later, v.Hard, v.Drain, v.Diag = Hold, None, false, DrainNever, 0
	return []string{why}
}

// refineSeen tells what polls have seen, where the class has several ways.
func refineSeen(e *episode) []string {
	switch e.Class {
	case Thermal, PCIeDegraded, GPUFailed:
		return e.Evidence[:min(1, len(e.Evidence))]
	}
	return nil
}

const inSRAM = "in SRAM, where nothing can be remapped"

// refineMemory lets the reports of one memory incident speak together.
func refineMemory(e *episode, v *Verdict) []string {
	m := ecc.FromBits(e.Memory)
	switch e.Class {
	case XID48:
		switch {
		case e.Repeat:
			v.Action, v.Diag = Replace, 3
			return []string{"again within the repeat window"}
		case m.Has(ecc.SRAM):
			v.Diag = 3
			return []string{inSRAM}
		case m.Soft():
			v.Hard = false
			return []string{"contained"}
		}
	case XID94:
		if e.Instance != xidparse.Absent {
			v.Radius = MIG
		}
		if instance := e.Instance; instance != xidparse.Absent && !e.Spread {
			v.Instance = &instance
		}
		if e.asksReset() {
			v.Action, v.Radius, v.Drain, v.Diag = Reset, GPU, DrainWhenIdle, 2
			return []string{"the line asks for a reset"}
		}
	case XID95, XID64:
		var why []string
		if m.Has(ecc.SRAM) {
			v.Diag = 3
			why = append(why, inSRAM)
		}
		if m.Has(ecc.ResetAsked) {
			why = append(why, "the line asks for a reset")
		}
		return why
	}
	return nil
}

// refineAskers names those who waited for the GPU, so that nobody blames them.
func refineAskers(e *episode) []string {
	if len(e.Askers) == 0 {
		return nil
	}
	names := e.Askers[:min(shownAskers, len(e.Askers))]
	more := ""
	switch n := len(e.Askers) - len(names); {
	case len(e.Askers) == maxAskers:
		more = fmt.Sprintf(" and at least %d more", n)
	case n > 0:
		more = fmt.Sprintf(" and %d more", n)
	}
	return []string{"who asked is a victim, not the cause: " + strings.Join(names, ", ") + more}
}

// refineLink follows the triage of XID 74's registers.
func (j *Judge) refineLink(e *episode, v *Verdict) []string {
	if e.Class != XID74 || e.Triage == nil {
		return nil
	}
	t := e.Triage
	board, shared := j.now.reaches[e.key()]
	switch {
	case !t.Acts():
		v.Action, v.Drain, v.Diag = Record, DrainNever, 0
	case t.Result == nvlink.FabricReset || shared:
		v.Radius = Baseboard
	}
	if t.Result == nvlink.Hardware {
		v.Drain = DrainNow
	}
	why := []string{t.Reason}
	if shared {
		why = append(why, board.Why)
	}
	if v.Action == Reset && e.Repeat && j.sameLink(e) {
		v.Action = Replace
		why = append(why, "the same link again")
	}
	return why
}

// sameLink says whether a link of this episode was repaired before.
func (j *Judge) sameLink(e *episode) bool {
	for _, link := range j.past[e.key()].Links {
		if e.Links[link] > 0 {
			return true
		}
	}
	return false
}

// refineArbiter lets the driver's own word stand above the catalogue.
func (j *Judge) refineArbiter(e *episode, v *Verdict) []string {
	d := j.devices[e.PCI]
	if d == nil || !v.Hardware || e.Class.IsSXid() {
		return nil
	}
	if d.Arbiter <= recoverNone {
		if e.Class == RecoveryAction {
			v.Action = Cordon
		}
		return nil
	}
	wanted, why := arbiterAction(d.Arbiter)
	if e.rule.Floor && wanted < v.Action || v.Action == Replace {
		return []string{fmt.Sprintf("%s, which is not enough", why)}
	}
	if e.Class == DriverHung && wanted == Reset {
		return nil // a reset hangs as the call does
	}
	v.Action, v.Later = wanted, None
	if wanted >= Reset {
		v.Drain = max(v.Drain, DrainWhenIdle)
		v.Diag = max(v.Diag, 2)
		v.Radius = max(v.Radius, GPU)
	}
	if wanted == Reboot {
		v.Radius = max(v.Radius, Node)
	}
	return []string{why}
}
