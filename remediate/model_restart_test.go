package remediate

import (
	"fmt"

	"github.com/gpuhealthd/gpuhealthd/fault"
)

// stall makes an engine's stall of a fault: a restart ends it, or nothing.
func (w *world) stall(v fault.Verdict) *ailment {
	v.Hardware, v.Hard, v.Action, v.Later, v.Diag = false, false, fault.Restart, fault.None, 0
	v.Class, v.Radius = "stalled-engine", fault.Process
	v.Workloads = []fault.Workload{{Name: "default/a", UID: pick(w, "u", "u", "u", "")}}
	if w.rng.IntN(3) == 0 {
		v.Workloads = append(v.Workloads, fault.Workload{Name: "default/b", UID: "w"})
	}
	return &ailment{v, pick(w, StepRestart, StepRestart, StepReboot, "")}
}

// stalled checks that a restart is of pods that a verdict wants restarted, and that the
// site lets the agent do it.
func (l *deedLog) stalled(d Deed) {
	wanted := false
	for _, i := range l.w.plan.served(&d) {
		wanted = wanted || restarts(i.Verdict) && covers(i.Verdict.Workloads, d.Workloads)
	}
	if !wanted || !ofPods(d.Workloads) || l.w.policy.Restart.Mode != MeansPods {
		l.w.fail(fmt.Sprintf("%s of %v is begun, and nobody wants it", d.ID, d.Workloads))
	}
}

// checkRestart checks that no node is taken out of service for a program, that nothing
// else waits for a restart, and that nobody stays out of rotation who is forgotten.
func (w *world) checkRestart() {
	for _, i := range w.plan.state.Open {
		if !i.Verdict.Hardware && (i.Claimed || i.State != Suspect) {
			w.fail(fmt.Sprintf("%s of a program is %s, claimed %v", i.Verdict.ID, i.State, i.Claimed))
		}
	}
	d := w.plan.state.Deed
	if d != nil && d.Kind == StepRestart && !d.Undoing && w.store == "" && w.plan.urgent(w.now) {
		w.fail(d.ID + " goes on, and another repair is due")
	}
	if w.taken && len(w.plan.state.Rotation) == 0 && (d == nil || len(d.Undo) == 0) {
		w.fail("it is forgotten who is out of rotation")
	}
}
