package remediate

import (
	"fmt"
	"slices"
	"time"

	"github.com/gpuhealthd/gpuhealthd/remediate/guard"
)

// Leave is the group's leave for this node to be out of service for a soft fault,
// or to be repaired. The mark on the Node tells it to the others, who count it.
type Leave struct {
	Given time.Time `json:"given"`
	// Until is when it has to be seen on the Node; what is not by then is void, and
	// the group is asked again.
	Until time.Time `json:"until"`
	Seen  bool      `json:"seen,omitempty"`
}

func (l *Leave) clone() *Leave {
	if l == nil {
		return nil
	}
	c := *l
	return &c
}

// HeldAction is an action that a guard holds.
type HeldAction struct {
	Action guard.Action `json:"action"`
	Since  time.Time    `json:"since"`
	guard.Hold
}

// Reply is what the group says to a node's asks.
type Reply struct {
	// Granted are those that nothing holds; they pass until Until, and no longer.
	Granted []guard.Ask
	Until   time.Time
	// Leave: a new leave comes with it, and the group waits for it to be seen. What is
	// granted without goes by the leave that the node has.
	Leave bool
	// Held are the others.
	Held []Refusal
}

// Refusal is an ask that guards hold.
type Refusal struct {
	guard.Ask
	Holds []guard.Hold
}

// gate is what the plan knows of the guards at present. None of it outlives the
// agent: an agent that comes back asks again.
type gate struct {
	// inHand is who has the node in hand, beside the agent.
	inHand guard.InHand
	reply  Reply
	// asks are what the plan would do if the group let it, held what guards hold,
	// both since the last look at everything.
	asks []guard.Ask
	held map[*Incident][]HeldAction
	// clock is what holds a diagnosis by the clock, labelled that the Node says it is
	// diagnosed.
	clock    []guard.Hold
	labelled bool
}

// Asks gives what the plan would do if the group of the node let it.
func (p *Plan) Asks() []guard.Ask { return slices.Clone(p.gate.asks) }

// Leave gives a copy of the group's leave; nil where there is none. Until it is seen,
// or is void, nobody else of the group should be given one.
func (p *Plan) Leave() *Leave { return p.state.Leave.clone() }

// Replied takes in what the group says. What is not wanted any more is not done: a
// reply lets pass what the plan asks for in this very moment, and nothing else.
func (p *Plan) Replied(now time.Time, a Reply) {
	a.Granted = slices.DeleteFunc(slices.Clone(a.Granted), func(g guard.Ask) bool { return !slices.ContainsFunc(p.gate.asks, g.Same) })
	p.gate.reply = a
	if p.state.Turn == nil && now.Before(a.Until) && slices.ContainsFunc(a.Granted, func(g guard.Ask) bool { return g.Action == guard.Scheduled }) {
		p.state.Turn = &Leave{Given: now, Until: a.Until}
	}
	leave := slices.ContainsFunc(a.Granted, func(g guard.Ask) bool { return g.Action.TakesOut() })
	if leave && a.Leave && p.state.Leave == nil && now.Before(a.Until) {
		p.state.Leave = &Leave{Given: now, Until: a.Until}
	}
	p.Tick(now)
}

// askAnew looks afresh at what guards hold: what was wanted before and is not any
// more is asked for no longer.
func (p *Plan) askAnew(now time.Time) {
	if p.policy.Guards == nil {
		return
	}
	p.gate.asks, p.gate.held, p.gate.clock = nil, map[*Incident][]HeldAction{}, nil
	p.state.Acts = p.policy.Guards.Recent(now, p.state.Acts)
	p.lapse(now)
	for _, i := range slices.Clone(p.state.Open) {
		switch {
		case i.State == Probation && !now.Before(i.Until):
			if !p.unproved(now, i) {
				p.returns(now, i)
			}
		case !i.standing() || i.Adopted:
		case p.barred(i):
			p.act(now, i)
		case i.speechless():
			p.ask(now, i)
		}
	}
}

// lapse ends a leave that is needed no more, or was not seen in its time.
func (p *Plan) lapse(now time.Time) {
	l := p.state.Leave
	switch {
	case l == nil:
	case !l.Seen && !now.Before(l.Until):
		p.void()
	case l.Seen && !slices.ContainsFunc(p.state.Open, func(i *Incident) bool { return p.needsLeave(now, i) }):
		p.state.Leave = nil
	}
}

// void takes back what was to be done by leave and is not seen on the Node. That the
// Node is closed may be by another incident's right, and what only its diagnosis ends
// keeps the node that it had.
func (p *Plan) void() {
	given := time.Time{}
	if l := p.state.Leave; l != nil {
		given = l.Given
	}
	p.state.Leave, p.gate.reply = nil, Reply{}
	for _, i := range p.state.Open {
		diagnosis := i.Over != nil && !i.Seen.IsZero()
		if i.Claimed && !(i.Contained && i.Seen.Before(given)) && !diagnosis && !i.Adopted && !i.Verdict.Hard {
			i.Claimed, i.Contained, i.ForIdle = false, false, false
			i.State, i.Since = Suspect, time.Time{}
			if s := i.step(StepCordon); s != nil {
				s.Status = Guarded
			}
		}
	}
}

// needsLeave says whether the group's leave is needed for an incident: for a soft
// fault as long as the node is out, for a hard one while it is repaired or diagnosed.
func (p *Plan) needsLeave(now time.Time, i *Incident) bool {
	switch {
	case !i.holds():
		return false
	case !i.Verdict.Hard:
		return true
	}
	return p.mode(i) == Repair && (i.standing() && i.Replacement == nil || p.doing(i, StepDiag) || p.wantsDiag(now, i) > 0)
}

// seeLeave takes in what the Node says of the group's leave, and who else has it in
// hand. A mark that was written after all, by an agent that died or did not hear of
// it, is counted by the others: its incident goes on.
func (p *Plan) seeLeave(now time.Time, o Observed) {
	if p.policy.Guards == nil {
		return
	}
	p.gate.inHand = o.InHand
	if n := o.Note; o.InHand.Why == "" && o.Unschedulable && (n == nil || n.Owner == OwnerAdministrator) {
		p.gate.inHand = guard.Cordoned()
	}
	if p.state.UID != "" && p.state.UID != o.UID {
		p.void() // the Node was made anew, and says nothing of it
		return
	}
	if o.Note == nil || !o.Note.Leave {
		return
	}
	i := p.find(o.Note.ID)
	if i != nil && !i.Claimed && !i.Released && (o.closed() || o.Note.Fence == FenceDevice) {
		i.Claimed = true
		i.mark(now, StepCordon, Pending)
	}
	if p.state.Leave == nil {
		p.state.Leave = &Leave{Given: now, Until: now}
	}
	p.state.Leave.Seen = true
}

// barred says whether an incident would take the node out of service if the guards
// let it.
func (p *Plan) barred(i *Incident) bool {
	return p.policy.Guards != nil && i.Verdict.Acts() && !i.Verdict.Closed && !i.Claimed && !i.Released && p.mode(i) != Observe
}

// admits says whether the node may be taken out of service for an incident. For a
// hard fault it may in any case, and what is out already needs no leave.
func (p *Plan) admits(now time.Time, i *Incident) bool {
	return p.policy.Guards == nil || i.Verdict.Hard || i.holds() || p.lets(now, i, StepCordon)
}

// lets says whether the guards let an action begin. What they hold is asked of the
// group, and noted.
func (p *Plan) lets(now time.Time, i *Incident, k StepKind) bool {
	g := p.policy.Guards
	if g == nil || k != StepCordon && p.doing(i, k) {
		return true
	}
	action := guard.Action(k)
	var holds []guard.Hold
	if h := p.gate.inHand.Hold(); h != nil {
		holds = append(holds, *h)
	}
	if h := g.Rate(now, action, p.state.Acts); h != nil && (k != StepCordon || !p.out()) {
		holds = append(holds, *h)
	}
	if len(holds) > 0 {
		p.hold(i, action, holds)
		return false
	}
	if !g.Fleet || k == StepRestart && !takesTurns(i.Verdict) {
		return true // a restart takes no node out; how many replicas may go at once, their disruption budget says
	}
	if k == StepRestart {
		return p.passes(now, i, action)
	}
	l := p.state.Leave
	return p.passes(now, i, action) && l != nil && (k == StepCordon || l.Seen)
}

// returns says whether a node that has served its probation goes back to service
// now, or waits for others of its group to do so first; but not for long.
func (p *Plan) returns(now time.Time, i *Incident) bool {
	g := p.policy.Guards
	if g == nil || !g.Fleet || g.Ramp.Every <= 0 || !i.holds() || !now.Before(i.Until.Add(g.Ramp.Limit)) {
		return true
	}
	return p.passes(now, i, guard.Release)
}

// passes says whether the group has let an action pass, and asks for it if not.
func (p *Plan) passes(now time.Time, i *Incident, action guard.Action) bool {
	ask := guard.Ask{Incident: i.Verdict.ID, Class: i.Verdict.Class, Action: action, Hard: i.Verdict.Hard, Out: p.out(), Since: i.Verdict.Opened}
	if action == guard.Restart {
		ask.Workload = i.Verdict.Workloads[0]
	}
	granted, holds := p.request(now, ask)
	if len(holds) > 0 {
		p.hold(i, action, holds)
	}
	return granted
}

// request puts down what the group is asked for, and gives what it said to that.
func (p *Plan) request(now time.Time, ask guard.Ask) (granted bool, holds []guard.Hold) {
	if !slices.ContainsFunc(p.gate.asks, ask.Same) {
		p.gate.asks = append(p.gate.asks, ask)
	}
	reply := p.gate.reply
	if now.Before(reply.Until) && slices.ContainsFunc(reply.Granted, ask.Same) {
		return true, nil
	}
	for _, r := range reply.Held {
		if r.Same(ask) {
			holds = r.Holds
		}
	}
	return false, holds
}

// hold notes what guards hold of an incident.
func (p *Plan) hold(i *Incident, a guard.Action, holds []guard.Hold) {
	if slices.ContainsFunc(p.gate.held[i], func(h HeldAction) bool { return h.Action == a }) || p.gate.held == nil {
		return
	}
	for _, h := range holds {
		p.gate.held[i] = append(p.gate.held[i], HeldAction{Action: a, Hold: h})
	}
}

// noteHolds settles what is held of each incident and of the schedule, and tells what
// was not before.
func (p *Plan) noteHolds(now time.Time) {
	if p.policy.Guards == nil {
		return
	}
	for _, i := range p.state.Open {
		i.Held = p.holdsNow(now, i.Held, p.gate.held[i], i.Verdict.ID, fmt.Sprintf("for %s", i.Verdict.Class), fmt.Sprintf(" (incident %s)", i.Verdict.ID))
	}
	var clock []HeldAction
	for _, h := range p.gate.clock {
		clock = append(clock, HeldAction{Action: guard.Scheduled, Hold: h})
	}
	p.state.ClockHeld = p.holdsNow(now, p.state.ClockHeld, clock, "schedule", "of idle GPUs", "")
}

// holdsNow gives what is held now since when, and tells what was not held before, or
// not for that reason: of each kind once a day.
func (p *Plan) holdsNow(now time.Time, before, held []HeldAction, key, what, tail string) []HeldAction {
	for n := range held {
		h := &held[n]
		h.Since = now
		had := slices.IndexFunc(before, func(o HeldAction) bool { return o.Action == h.Action && o.Guard == h.Guard })
		if had >= 0 {
			h.Since = before[had].Since
		}
		if had >= 0 && before[had].Kind == h.Kind {
			continue
		}
		p.announce(now, Event{Key: fmt.Sprintf("%s/Held/%s/%s/%s/%s", key, h.Action, h.Guard, h.Kind, now.UTC().Format(time.DateOnly)),
			Type: "Normal", Reason: "ActionHeld",
			Message: fmt.Sprintf("%s %s is held by the guard %s: %s; until %s%s", h.Action, what, h.Guard, h.Why, h.Hold.Until, tail)})
	}
	return held
}

// ClockHeld gives what guards hold of the schedule of diagnoses.
func (p *Plan) ClockHeld() []HeldAction { return slices.Clone(p.state.ClockHeld) }

// acted counts what was begun for an incident against the rate at which it may be.
func (p *Plan) acted(now time.Time, k StepKind) {
	if p.policy.Guards != nil {
		p.state.Acts = append(p.state.Acts, guard.Act{Action: guard.Action(k), At: now})
	}
}

// uncount takes back what a deed has counted against that rate: it has come to nothing.
func (p *Plan) uncount(d *Deed) {
	p.state.Acts = slices.DeleteFunc(p.state.Acts, func(a guard.Act) bool { return a.Action == guard.Action(d.Kind) && a.At.Equal(d.Began) })
}
