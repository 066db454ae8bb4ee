package remediate

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/gpuhealthd/gpuhealthd/fault"
	"github.com/gpuhealthd/gpuhealthd/remediate/guard"
)

// historyLimit bounds the incidents that are kept after their end.
const historyLimit = 64

// Sources is how well the node can be seen.
type Sources struct {
	// Polled says that the driver has answered at least once.
	Polled bool `json:"polled"`
	// GPUs are those that answered at the last poll.
	GPUs []fault.Device `json:"gpus"`
	// Deaf is why the kernel log is not heard; empty when it is.
	Deaf string `json:"deaf,omitempty"`
	// Blind is why the driver is not asked; empty when it is.
	Blind string `json:"blind,omitempty"`
	// Links is how the NVLinks are.
	Links fault.LinkState `json:"links,omitempty"`
	// Domain is the short name of the NVLink domain that the node is in, Summary what
	// it tells that of its links; both are empty for nothing.
	Domain  string `json:"domain,omitempty"`
	Summary string `json:"summary,omitempty"`
	// Stranded is how many GPUs' worth of the prefill workers keeps KV cache for decode
	// workers that are gone.
	Stranded float64 `json:"stranded,omitempty"`
	// Trays are the nodes of the domain that say of themselves that their links are
	// not in order, our own too; Workloads what works on those, and MoreWork how many
	// more workloads they did not name.
	Trays     []string `json:"trays,omitempty"`
	Workloads []string `json:"workloads,omitempty"`
	MoreWork  int      `json:"moreWork,omitempty"`
	// Store is why nothing can be written down, with the remedy; empty when it
	// can. Nothing destructive is then asked for, or begun.
	Store string `json:"store,omitempty"`
	// Together are the groups of GPUs that can only be reset as one; a GPU of none
	// is reset alone.
	Together [][]fault.Device `json:"together,omitempty"`
	// Unproved are the replicas of the node that have not proved that they serve, each
	// with what it lacks, in words.
	Unproved []string `json:"unproved,omitempty"`
}

// Plan is the state machine over a node's incidents. It is not safe for
// concurrent use.
type Plan struct {
	policy  Policy
	state   state
	sources Sources
	// met says that the Node has been seen since the start.
	met       bool
	overruled []string
	// ended are the diagnoses that have ended without a report.
	ended []Unreported
	// refused is the day on which a missing right was told last.
	refused string
	// unwritten are the requests made since the last Written, unsaved the deed
	// that was begun since; empty is none.
	unwritten []request
	unsaved   string
	// occupied is who holds the GPUs, by the last that was heard; nil is unknown.
	occupied *Occupancy
	// looked is when it was last known who holds the GPUs.
	looked time.Time
	// booted says that the running boot is known since the start.
	booted bool
	gate   gate
	// fences are the devices that shall be fenced by themselves. plugged says that a
	// device plugin gives GPUs out, which knows nothing of that.
	fences  []Fence
	plugged bool
}

// request names a step that others are asked for.
type request struct {
	incident string
	kind     StepKind
}

// state is the saved form.
type state struct {
	Open    []*Incident `json:"open"`
	History []Incident  `json:"history"`
	Outbox  []Event     `json:"-"`
	UID     string      `json:"uid"`
	// GPUs are those that answered last.
	GPUs []fault.Device `json:"gpus,omitempty"`
	// Mode is the policy's when it was looked at last.
	Mode Mode `json:"mode,omitempty"`
	// Closed says that the Node was seen cordoned last.
	Closed bool `json:"closed,omitempty"`
	// Boot is the running boot's id, empty while it is not known.
	Boot string    `json:"boot,omitempty"`
	Deed *underway `json:"deed,omitempty"`
	// Serial counts the deeds, for their IDs.
	Serial   int       `json:"serial,omitempty"`
	Attempts []Attempt `json:"attempts,omitempty"`
	Emptied  emptied   `json:"emptied,omitzero"`
	// Verification is kept for the agent.
	Verification *Verification `json:"verification,omitempty"`
	// Asking is the diagnosis that somebody asks for, Answer what came of the last;
	// Taken is the annotation that was heard, until it is gone.
	Asking *Asking `json:"asking,omitempty"`
	Answer *Answer `json:"answer,omitempty"`
	Taken  string  `json:"taken,omitempty"`
	// Scheduled is when the last diagnosis by the clock was due.
	Scheduled time.Time `json:"scheduled,omitzero"`
	// Turn is the group's leave for one by the clock, nil where none was given;
	// ClockHeld is what guards hold of the schedule.
	Turn      *Leave       `json:"turn,omitempty"`
	ClockHeld []HeldAction `json:"clockHeld,omitempty"`
	// Diagnosed is what the last diagnosis said, by UUID.
	Diagnosed map[string]Diagnosed `json:"diagnosed,omitempty"`
	// Rotation is who is out of rotation by drains and restarts that came to no end, in
	// the words of who does them.
	Rotation []string `json:"rotation,omitempty"`
	// Leave is the group's, nil where none was given; Acts are what the guards'
	// rates count.
	Leave   *Leave      `json:"leave,omitempty"`
	Acts    []guard.Act `json:"acts,omitempty"`
	Fencing fencing     `json:"fencing,omitzero"`
	// DomainFault is that of the whole NVLink domain, nil for none.
	DomainFault *domainFault `json:"domainFault,omitempty"`
}

// NewPlan makes a plan with no incident.
func NewPlan(policy Policy) *Plan { return &Plan{policy: policy} }

// Snapshot gives the plan's memory as JSON, without the outbox, which is saved
// event by event.
func (p *Plan) Snapshot() ([]byte, error) {
	data, err := json.Marshal(p.state)
	if err != nil {
		return nil, fmt.Errorf("save the plan: %w", err)
	}
	return data, nil
}

// RestorePlan makes a plan from a Snapshot and the outbox of that moment.
func RestorePlan(policy Policy, data []byte, outbox []Event) (*Plan, error) {
	p := NewPlan(policy)
	if err := json.Unmarshal(data, &p.state); err != nil {
		return nil, fmt.Errorf("read the plan's snapshot: %w", err)
	}
	p.state.Outbox = slices.Clone(outbox)
	p.inherit()
	if l := p.state.Leave; l != nil && !l.Seen {
		p.void()
	}
	if t := p.state.Turn; t != nil && !t.Seen {
		p.state.Turn = nil
	}
	p.retryAtStart()
	return p, nil
}

// Incidents gives copies of the open incidents, the worst first.
func (p *Plan) Incidents() []Incident {
	is := []Incident{}
	for _, i := range p.ranked() {
		is = append(is, i.clone())
	}
	return is
}

// History gives the ended incidents, the newest last.
func (p *Plan) History() []Incident { return append([]Incident{}, p.state.History...) }

// Sources takes in how well the node can be seen, and whether the plan can be
// written down.
func (p *Plan) Sources(now time.Time, s Sources) {
	had := p.sources.Store
	if p.sources = s; s.Polled && s.Blind == "" {
		p.state.GPUs = s.GPUs
	}
	if (had == "") == (s.Store == "") {
		return
	}
	if s.Store != "" {
		p.takeBack(now)
		p.turned(now, Event{Type: "Warning", Reason: "StoreBroken", Message: s.Store})
	} else {
		p.turned(now, Event{Type: "Normal", Reason: "StoreMended", Message: "the plan is written down again"})
	}
	for _, i := range slices.Clone(p.state.Open) {
		if i.State != Probation {
			p.act(now, i)
		}
	}
	p.decide(now)
}

// Written says that all that the plan holds is on disk.
func (p *Plan) Written() { p.unwritten, p.unsaved = nil, "" }

// takeBack holds the requests that were to be written when the store broke:
// nobody has heard of them.
func (p *Plan) takeBack(now time.Time) {
	for _, r := range p.unwritten {
		if i := p.find(r.incident); i != nil && i.Asks(r.kind) {
			step := i.step(r.kind)
			step.Status, step.Since = Held, now
			p.Told(r.incident + "/" + requestReason(r.kind))
		}
	}
	p.unwritten = nil
	p.disown(now)
}

// Verdict takes in what the judge holds of an episode.
func (p *Plan) Verdict(now time.Time, v fault.Verdict) {
	i := p.find(v.ID)
	if i == nil {
		if v.Closed || v.Root != "" {
			return
		}
		p.opened(now, v)
		if !v.Hardware && !restarts(v) && !waitsToRestart(v) {
			return
		}
		i = &Incident{State: Suspect}
		p.state.Open = append(p.state.Open, i)
	}
	i.Level = max(i.Level, v.Diag)
	if gpus, other := p.present(v.GPUs); v.Closed && v.Root == "" && other && p.tests(i) {
		p.exchange(now, i, v, gpus)
		p.share(now)
		p.decide(now)
		return
	}
	if v.Closed && v.Root == "" && (i.Over != nil || p.clearing(i)) {
		p.await(now, i, v)
		p.share(now)
		p.decide(now)
		return
	}
	before := i.Verdict
	i.Verdict, i.Over, i.Failing = v, nil, false
	p.others(now, i, before)
	p.anew(now, i)
	if v.Action > fault.Reset && v.Action != before.Action {
		i.Settling = time.Time{} // the repair has not helped, or something worse has come
	}
	switch {
	case v.Root != "" && !(p.bound() && i.holds()):
		p.end(now, i)
	case v.Closed || v.Root != "":
		p.over(now, i)
	default:
		p.act(now, i)
		if before.ID != "" && before.Action != v.Action {
			p.tell(now, v, "Warning", "VerdictChanged", told(v))
		}
	}
	p.share(now)
	p.decide(now)
}

// act claims the node for a verdict that wants that, and records what others
// are asked for.
func (p *Plan) act(now time.Time, i *Incident) {
	v := i.Verdict
	if i.Released {
		return
	}
	switch s := i.step(StepCordon); {
	case !v.Acts() && s != nil && s.Status == Guarded:
		i.mark(now, StepCordon, Withdrawn)
	case !v.Acts() || p.mode(i) == Observe:
	case p.admits(now, i):
		p.claimFor(now, i)
		i.ForIdle, i.Adopted = false, false
		p.place(now, i)
		p.supersede(now, i)
	default:
		i.want(now, StepCordon, Guarded)
	}
	p.ask(now, i)
}

// claimFor claims the node for an incident. That is a deed where the node still serves:
// its cordon is one, however many claim it.
func (p *Plan) claimFor(now time.Time, i *Incident) {
	if !p.out() {
		p.acted(now, StepCordon)
	}
	i.Claimed = true
	if s := i.step(StepCordon); s == nil || s.Status == Guarded {
		i.mark(now, StepCordon, Pending)
	}
}

// over begins the probation of an incident that took the node out of service,
// and ends any other.
func (p *Plan) over(now time.Time, i *Incident) {
	i.withdraw(now)
	if !i.holds() || p.policy.Probation <= 0 && !p.bound() {
		p.tell(now, i.Verdict, "Normal", "FaultOver", told(i.Verdict))
		p.end(now, i)
		return
	}
	i.State, i.Since, i.Until = Probation, now, now.Add(p.policy.Probation)
	p.tell(now, i.Verdict, "Normal", "ProbationStarted",
		fmt.Sprintf("%s is over; the node goes back to service after %s without a new fault", i.Verdict.Class, p.policy.Probation))
}

// supersede ends the probation of an older incident on the same GPUs: the new
// one carries on.
func (p *Plan) supersede(now time.Time, i *Incident) {
	for _, other := range slices.Clone(p.state.Open) {
		if other != i && (other.State == Probation || other.awaits()) && overlap(other.Verdict.GPUs, i.Verdict.GPUs) {
			p.end(now, other)
		}
	}
}

func overlap(a, b []fault.Device) bool {
	return slices.ContainsFunc(a, func(d fault.Device) bool {
		return slices.ContainsFunc(b, func(e fault.Device) bool { return d.PCI == e.PCI })
	})
}

// Tick ends the probations that have been served, and sees to the deadlines. A
// probation that was adopted is not served while the driver cannot be asked, and
// none is while GPUs are reset or the host goes down.
func (p *Plan) Tick(now time.Time) {
	for _, i := range slices.Clone(p.state.Open) {
		if i.Adopted && !p.sees() {
			i.Until = now.Add(p.policy.Probation)
		}
		if i.State == Probation && !now.Before(i.Until) && !p.bound() && !p.unproved(now, i) && p.returns(now, i) {
			p.servedProbation(now, i)
			p.end(now, i)
		}
	}
	p.decide(now)
}

// Node takes in what the Node object says. An administrator's uncordon ends
// the claim of every incident that had the node contained.
func (p *Plan) Node(now time.Time, o Observed) {
	p.met = true
	if !o.Exists {
		return
	}
	p.adopt(now, o)
	p.annotated(now, o.Asks)
	if p.state.UID != o.UID {
		p.unsee(now)
	}
	p.seeTurn(o)
	p.seeLeave(now, o)
	if p.state.UID != o.UID || p.state.Closed && !o.Unschedulable {
		p.state.Emptied = emptied{} // pods may have come
	}
	p.state.UID, p.state.Closed, p.plugged = o.UID, o.Unschedulable, o.Offered.Capacity > 0
	fenced := o.Note != nil && o.Note.Fence == FenceDevice
	for _, i := range slices.Clone(p.state.Open) {
		if !i.holds() {
			continue
		}
		marked := o.Note != nil && o.Note.ID == i.Verdict.ID
		switch {
		case o.closed(), fenced && p.narrow(now, i) && p.stands(now, i):
			if !i.Contained {
				i.Contained, i.Seen = true, now
			}
			if s := i.step(StepCordon); s != nil && s.Status != Done {
				s.Status, s.Since = Done, now
				p.tell(now, i.Verdict, "Warning", "NodeQuarantined", quarantineText(i.Verdict, o.Note.Owner))
			}
		case fenced:
			i.Contained = false // its cordon is on its way
		case !o.Unschedulable && (i.Contained || marked):
			p.release(now, i, "the node was uncordoned by hand")
		}
	}
	p.decide(now)
}

// unsee forgets that the node was seen contained: it is another Node, or whoever
// rebooted the host has put it back to service on the way, as Slurm does.
func (p *Plan) unsee(now time.Time) {
	for _, i := range p.state.Open {
		i.Contained, i.Seen = false, now
	}
}

// release lets what an administrator did, which how says, stand for this incident.
func (p *Plan) release(now time.Time, i *Incident, how string) {
	i.Released, i.State = true, Suspect
	i.withdraw(now)
	if i.Over != nil {
		i.Verdict, i.Over, i.Failing = *i.Over, nil, false
	}
	p.tell(now, i.Verdict, "Warning", "ClaimEnded",
		fmt.Sprintf("%s: %s is no longer acted on under this incident", how, i.Verdict.Class))
	p.overruled = append(p.overruled, i.Verdict.ID)
	if i.Verdict.Closed || i.Verdict.Root != "" || i.Adopted {
		p.end(now, i)
	}
	p.share(now)
}

// Overruled gives the incidents that an administrator has ended since the last
// call: the judge hears of that as of anything else that happens.
func (p *Plan) Overruled() []string {
	ids := p.overruled
	p.overruled = nil
	return ids
}

func (p *Plan) end(now time.Time, i *Incident) {
	i.Ended = now
	p.state.Open = slices.DeleteFunc(p.state.Open, func(o *Incident) bool { return o == i })
	p.state.History = append(p.state.History, i.clone())
	if n := len(p.state.History); n > historyLimit {
		p.state.History = slices.Delete(p.state.History, 0, n-historyLimit)
	}
}

func (p *Plan) find(id string) *Incident {
	for _, i := range p.state.Open {
		if i.Verdict.ID == id {
			return i
		}
	}
	return nil
}

// ranked gives the open incidents, the one to be shown first.
func (p *Plan) ranked() []*Incident {
	is := slices.Clone(p.state.Open)
	slices.SortStableFunc(is, func(a, b *Incident) int {
		return cmp.Or(
			cmp.Compare(severity(b.State), severity(a.State)),
			cmp.Compare(b.Verdict.Action, a.Verdict.Action),
			cmp.Compare(b.Verdict.Radius, a.Verdict.Radius),
			a.Verdict.Opened.Compare(b.Verdict.Opened))
	})
	return is
}

// severity orders the states: what the node's label shows is the worst.
func severity(s NodeState) int {
	return slices.Index([]NodeState{Healthy, Suspect, Probation, Quarantined, Draining, Repairing, Failed}, s)
}
