package remediate

import "github.com/gpuhealthd/gpuhealthd/fault"

// Stuck gives the workloads that do not get on, and whose pods the agent moves itself for
// that. They are to have no requests, whether or not it may move them at present: a
// guard, another deed or a disruption budget may hold that up for long.
func (p *Plan) Stuck() (stuck []fault.Workload) {
	for _, i := range p.live() {
		step := StepRestart
		if i.Verdict.Class == fault.StalledGPU {
			step = StepDrain
		}
		stall := i.Verdict.Class == fault.StalledGPU || i.Verdict.Class == fault.StalledEngine && restarts(i.Verdict)
		if stall && p.mode(i) == Repair && p.means(step) == MeansPods {
			stuck = append(stuck, i.Verdict.Workloads...)
		}
	}
	return stuck
}
