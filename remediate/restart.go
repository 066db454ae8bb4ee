package remediate

import (
	"fmt"
	"slices"
	"time"

	"github.com/gpuhealthd/gpuhealthd/fault"
)

// A replica whose engine has stalled is restarted by having its pod evicted: whoever
// owns the pod makes another. The node is healthy, and is neither cordoned nor marked;
// the group of nodes is not asked, since none is taken out. What bounds it is the node's
// rate, the disruption budget of the replicas and, for a fault that many of them have at
// once, their own group.
//
// A restart waits for a repair that is due, and is called off for it. One is under way at
// a time, until its pods are evicted; one that is not let happen is put off, so that the
// next need not wait for it.

// putOffFor is the time between two tries of a restart that is not let happen. A
// disruption budget opens when other pods have become ready.
const putOffFor = 30 * time.Second

// restarts says whether a verdict asks for workloads to be restarted.
func restarts(v fault.Verdict) bool { return v.Action == fault.Restart && len(v.Workloads) > 0 }

// waitsToRestart says whether a verdict would have workloads restarted later. What is
// begun for it goes on: its pod may be on its way out.
func waitsToRestart(v fault.Verdict) bool { return v.Later == fault.Restart }

// takesTurns says whether the workload of a verdict is restarted in turn with the others
// of its serving group: all of them are likely to want it at once.
func takesTurns(v fault.Verdict) bool { return v.Class == fault.StalePeer && restarts(v) }

// ofPods says whether all workloads are pods.
func ofPods(ws []fault.Workload) bool {
	return len(ws) > 0 && !slices.ContainsFunc(ws, func(w fault.Workload) bool { return w.UID == "" })
}

// others takes in that an incident is about other workloads than before: what was done
// about those says nothing of these.
func (p *Plan) others(now time.Time, i *Incident, before fault.Verdict) {
	s := i.step(StepRestart)
	if s != nil && s.Status.over() && !covers(before.Workloads, i.Verdict.Workloads) {
		i.mark(now, StepRestart, Withdrawn)
	}
}

// covers says whether all of some workloads are among others.
func covers(all, some []fault.Workload) bool {
	return !slices.ContainsFunc(some, func(w fault.Workload) bool { return !slices.Contains(all, w) })
}

// wantsRestart says whether an incident wants the agent to restart its pods now.
func (p *Plan) wantsRestart(now time.Time, i *Incident) bool {
	s := i.step(StepRestart)
	switch {
	case s == nil || !restarts(i.Verdict) || !p.Ready() || !p.ours(i, StepRestart) || p.inRepair(now, i):
		return false
	case s.Status == Overdue:
		return !now.Before(s.Since.Add(p.policy.Restart.Deadline))
	case s.Status == PutOff:
		return !now.Before(s.Since.Add(putOffFor))
	}
	return s.Status == Planned
}

// nextRestart gives the one restart that may be begun now, nil for none, and the
// incident that it serves.
func (p *Plan) nextRestart(now time.Time) (*Deed, *Incident) {
	for _, i := range p.live() {
		if p.wantsRestart(now, i) && p.lets(now, i, StepRestart) {
			v := i.Verdict
			return &Deed{Kind: StepRestart, GPUs: union(v.GPUs), Workloads: slices.Clone(v.Workloads)}, i
		}
	}
	return nil, nil
}

// restart begins the restart that is due, and calls off the one under way that nobody
// wants any more.
func (p *Plan) restart(now time.Time) {
	if d := p.state.Deed; d != nil && d.Kind == StepRestart && !d.Undoing && !p.stillWanted(&d.Deed) {
		p.callOff(now, Withdrawn)
	}
	if p.sources.Store != "" || p.urgent(now) {
		return
	}
	if p.rotate(now); p.state.Deed != nil { // before another is moved, which takes its time
		return
	}
	next, i := p.nextRestart(now)
	if next == nil {
		return
	}
	s := i.step(StepRestart)
	if s.Tries++; s.Tries == 1 {
		s.Begun = now
	}
	p.begin(now, *next, []*Incident{i})
	if s.Tries == 1 {
		p.say(now, &p.state.Deed.Deed, "Normal", startReason(StepRestart), "restart of "+p.state.Deed.where()+" begun")
	}
}

// stillWanted says whether the incident that a restart is for still wants it.
func (p *Plan) stillWanted(d *Deed) bool {
	return slices.ContainsFunc(p.served(d), func(i *Incident) bool {
		return i.standing() && (restarts(i.Verdict) || waitsToRestart(i.Verdict)) && p.ours(i, StepRestart)
	})
}

// anew takes in that what an incident was about was started anew, or is gone. Where that
// was the purpose of a restart under way, it is done, whoever tells so first.
func (p *Plan) anew(now time.Time, i *Incident) {
	if i.Verdict.Anew && p.doing(i, StepRestart) {
		p.restarted(now, "started anew, or gone: ")
	}
}

// restarted ends the restart under way as one that is done.
func (p *Plan) restarted(now time.Time, how string) {
	d := p.conclude()
	for _, i := range p.served(d) {
		i.mark(now, StepRestart, Done)
		i.step(StepRestart).Tries = 0
	}
	p.say(now, d, "Normal", "Restarted", how+d.where())
}

// restartOver takes in how a restart ended. What has evicted nothing is none that counts.
func (p *Plan) restartOver(now time.Time, d *Deed, o Outcome) {
	if o.Result != Succeeded {
		p.uncount(d)
	}
	if o.Result == Unavailable {
		p.unavailable(now, d, o)
		return
	}
	first := false
	for _, i := range p.served(d) {
		s := i.step(StepRestart)
		switch {
		case o.Result == Refused && now.Before(s.Begun.Add(p.policy.Restart.Deadline)):
			i.mark(now, StepRestart, PutOff)
			i.because(StepRestart, o.Text)
		case o.Result != Succeeded:
			first = first || now.Before(s.Begun.Add(2*p.policy.Restart.Deadline))
			i.mark(now, StepRestart, Overdue)
			i.because(StepRestart, o.Text)
		case covers(d.Workloads, i.Verdict.Workloads):
			i.mark(now, StepRestart, Done)
			s.Tries = 0
		default:
			i.mark(now, StepRestart, Planned) // there are more by now
		}
	}
	switch {
	case o.Result == Succeeded:
		p.say(now, d, "Normal", "Restarted", "evicted, to be made anew by their owner: "+d.where())
	case first:
		p.say(now, d, "Warning", "RestartOverdue", fmt.Sprintf("restart of %s is overdue; tried again later: %s", d.where(), o.Text))
	}
}

// startedAnew takes in that all that ran on the node was started anew with it.
func (p *Plan) startedAnew(now time.Time) {
	if d := p.state.Deed; d != nil && d.Kind == StepRestart && !d.Undoing {
		p.restarted(now, "started anew with the node: ")
	}
	for _, i := range p.live() {
		if s := i.step(StepRestart); s != nil && s.Status.waits() {
			i.mark(now, StepRestart, Done)
		}
	}
}

// OutOfRotation names a pod that is out of rotation, in what a deed owes.
func OutOfRotation(w fault.Workload) string { return w.Name + " " + w.UID }

// takesOver parts those who are out of rotation into whom a deed is to put back, if it comes
// to no end, and whom not: a restart moves its own pods alone, and nobody knows before
// whom a drain will move.
func (p *Plan) takesOver(d *Deed) (its, others []string) {
	if d.Kind != StepRestart {
		return p.state.Rotation, nil
	}
	return part(p.state.Rotation, d.Workloads)
}

// part parts those who are out of rotation by whether they are among some workloads.
func part(out []string, ws []fault.Workload) (among, others []string) {
	for _, word := range out {
		if slices.ContainsFunc(ws, func(w fault.Workload) bool { return OutOfRotation(w) == word }) {
			among = append(among, word)
		} else {
			others = append(others, word)
		}
	}
	return among, others
}

// rotate has those put back into rotation whom a drain or a restart has taken out that
// came to no end, unless moving them is tried again.
func (p *Plan) rotate(now time.Time) {
	if p.state.Deed != nil || len(p.state.Rotation) == 0 || p.sources.Store != "" {
		return
	}
	var tried []fault.Workload
	for _, i := range p.live() {
		switch {
		case i.tries(StepDrain):
			return
		case i.tries(StepRestart):
			tried = append(tried, i.Verdict.Workloads...)
		}
	}
	stay, back := part(p.state.Rotation, tried)
	if len(back) == 0 {
		return
	}
	p.state.Serial++
	p.state.Deed = &underway{Deed: Deed{ID: fmt.Sprintf("rotation-%d", p.state.Serial), Kind: StepRestart, GPUs: []fault.Device{},
		Began: now, Deadline: now.Add(p.policy.Restart.Deadline), BootID: p.state.Boot, Resumable: true, Undo: back, Undoing: true}}
	p.state.Rotation = stay
}

// tries says whether moving the incident's pods by such a step is tried again.
func (i *Incident) tries(k StepKind) bool {
	s := i.step(k)
	return s != nil && (s.Status == Overdue || s.Status == PutOff)
}
