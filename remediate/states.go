package remediate

import (
	"fmt"
	"strings"
	"time"

	"github.com/gpuhealthd/gpuhealthd/fault"
)

// StateRule is one state that a node can be in for an incident, in mode repair.
type StateRule struct {
	State NodeState
	// Means says what it is.
	Means string
	// Deadline says in words of the configuration how long it lasts, and Limit how
	// long that is, by a policy. Healthy alone has none.
	Deadline string
	Limit    func(Policy) time.Duration
	// Passed says what happens at the deadline.
	Passed string
	Exits  []Exit
}

// Exit is one way out of a state.
type Exit struct {
	To   NodeState
	When string
}

// States gives the state machine of mode repair, by severity: what the label
// shows is the worst of a node's incidents.
func States() []StateRule {
	return []StateRule{
		{State: Healthy, Means: "no incident is open", Exits: []Exit{
			{Suspect, "a fault is seen"},
			{Quarantined, "a fault is seen that takes the node out of service"},
			{Failed, "a fault is seen whose part has to be replaced"},
		}},
		{State: Suspect, Means: "a fault is recorded, and the node serves; its repair may wait for an idle window",
			Deadline: "repair.remind", Limit: func(p Policy) time.Duration { return p.Remind },
			Passed: "what it waits for is told again",
			Exits: []Exit{
				{Healthy, "the fault is over"},
				{Quarantined, "the fault has become worse, or the idle window has come"},
				{Failed, "the part has to be replaced"},
			}},
		{State: Probation, Means: "the fault is over, and must stay so before the node serves again",
			Deadline: "contain.probation", Limit: func(p Policy) time.Duration { return p.Probation },
			Passed: "the node serves again, once its replicas have proved that they do, for which it waits no longer than serving.probationLimit",
			Exits: []Exit{
				{Healthy, "the probation is served, or an administrator uncordons the node"},
				{Quarantined, "a fault that was known by the Node's mark alone, or that went as a symptom, is found again; or another part sits there, and is diagnosed"},
			}},
		{State: Quarantined, Means: "out of service; a step waits to be seen, for its turn, for others or for a person",
			Deadline: "repair.remind", Limit: func(p Policy) time.Duration { return p.Remind },
			Passed: "what it waits for is told again; a hard fault waits for its cordon for repair.unreachable, an overdue drain is tried again after repair.drain.deadline",
			Exits: []Exit{
				{Suspect, "an administrator uncordons the node, or the idle window was none"},
				{Draining, "the cordon is seen, and pods have to leave"},
				{Repairing, "the GPUs are known to be free"},
				{Probation, "the fault is over"},
				{Failed, "the part has to be replaced"},
				{Healthy, "the fault is over, as a symptom of another"},
			}},
		{State: Draining, Means: "the work inside the radius is made to leave, and seen to have left",
			Deadline: "repair.drain.deadline", Limit: func(p Policy) time.Duration { return p.Drain.Deadline },
			Passed: "by repair.drain.atDeadline: wait, and tried again, or force",
			Exits: []Exit{
				{Repairing, "drained"},
				{Quarantined, "drained, and the repair waits; overdue; or called off"},
				{Probation, "the fault is over"},
				{Suspect, "an administrator uncordons the node"},
				{Failed, "the part has to be replaced"},
				{Healthy, "the fault is over, as a symptom of another"},
			}},
		{State: Repairing, Means: "GPUs are reset or the host is rebooted, or that was done and is given time to be seen to work, or GPUs are diagnosed",
			Deadline: "repair.reset.deadline or repair.reboot.deadline, then repair.settle; repair.diag.level2 or level3",
			Limit: func(p Policy) time.Duration {
				return max(p.Reset.Deadline, p.Reboot.Deadline, p.Diag.Level2, p.Diag.Level3) + p.Settle
			},
			Passed: "the next rung of the ladder: reset, reboot, replacement; a diagnosis is begun again, and then by repair.diag.unproven: hold or accept",
			Exits: []Exit{
				{Probation, "the fault is over, and a diagnosis has passed where one is run"},
				{Quarantined, "refused, failed, or no help: the next rung; the fault is over, and its diagnosis waits, was called off or proves nothing"},
				{Draining, "no help, and the next rung needs the whole node to be empty"},
				{Failed, "no help, and no rung is left; or a diagnosis says so"},
				{Suspect, "an administrator uncordons the node"},
				{Healthy, "the fault is over, as a symptom of another"},
			}},
		{State: Failed, Means: "the part has to be replaced",
			Deadline: "repair.remind", Limit: func(p Policy) time.Duration { return p.Remind },
			Passed: "the replacement is asked for again",
			Exits: []Exit{
				{Probation, "another part sits there, or the fault is over"},
				{Quarantined, "another part sits there, and is diagnosed"},
				{Suspect, "an administrator uncordons the node"},
				{Healthy, "the fault is over, as a symptom of another"},
			}},
	}
}

// limit is how long a state lasts before its deadline passes.
func (p *Plan) limit(s NodeState) time.Duration {
	for _, r := range States() {
		if r.State == s && r.Limit != nil {
			return r.Limit(p.policy)
		}
	}
	return 0
}

// place puts an incident into the state that it is in by now.
func (p *Plan) place(now time.Time, i *Incident) {
	s := p.stateOf(now, i)
	if p.mode(i) != Repair {
		i.State = s
		return
	}
	if s != i.State || i.Since.IsZero() {
		i.State, i.Since, i.Until = s, now, now.Add(p.limit(s))
	}
	switch {
	case p.doing(i, StepDrain, StepReset, StepReboot, StepDiag) && s != Failed:
		i.Until = p.state.Deed.Deadline
	case now.Before(i.Settling):
		i.Until = i.Settling
	}
}

func (p *Plan) stateOf(now time.Time, i *Incident) NodeState {
	switch {
	case i.Replacement != nil, p.mode(i) != Repair && i.Claimed && i.Verdict.Action == fault.Replace:
		return Failed
	case p.doing(i, StepReset, StepReboot, StepDiag), now.Before(i.Settling):
		return Repairing
	case p.doing(i, StepDrain), p.unproven(now, i):
		return Draining
	case i.Claimed:
		return Quarantined
	}
	return Suspect
}

// remind tells again what an incident waits for, that waits for others.
func (p *Plan) remind(now time.Time, i *Incident) {
	if p.mode(i) != Repair || i.State == Draining || i.State == Repairing || now.Before(i.Until) || p.limit(i.State) <= 0 {
		return
	}
	i.Until = now.Add(p.limit(i.State))
	if step := i.next(); step != string(Suspect) {
		if d := p.state.Deed; d != nil && d.Undoing {
			step += ", once this is put back: " + strings.Join(d.Undo, ", ")
		}
		p.announce(now, Event{Key: i.Verdict.ID + "/StillOpen/" + now.UTC().Format(time.DateOnly), Type: "Warning", Reason: "StillOpen",
			Message: fmt.Sprintf("%s is open since %s: %s (incident %s)", i.Verdict.Class, i.Verdict.Opened.UTC().Format(time.RFC3339), step, i.Verdict.ID)})
	}
}
