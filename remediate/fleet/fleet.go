package fleet

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/gpuhealthd/gpuhealthd/fault"
	"github.com/gpuhealthd/gpuhealthd/remediate"
	"github.com/gpuhealthd/gpuhealthd/remediate/apiserver"
	"github.com/gpuhealthd/gpuhealthd/remediate/guard"
)

const (
	// LeaseTime is how long the Lease of an agent that is not heard of any more
	// holds up its group.
	LeaseTime = time.Minute
	// LeaveTime is how long a leave may take to be seen on the Node. It is so much
	// shorter than LeaseTime that a write which was begun at its end has reached the
	// Node, or failed, before anybody else is given leave.
	LeaveTime = 20 * time.Second
	// writeTime is how long a write to the Node may be under way.
	writeTime = 20 * time.Second
	// surveyTime is how long all questions of one Ask may take.
	surveyTime = 15 * time.Second
)

// Options say whose group it is, and by which rules it is asked.
type Options struct {
	Node   string
	Client *apiserver.Client
	Rules  guard.Rules
	// Namespace is where the Leases are.
	Namespace string
	// Label makes a group of the nodes with the same value of it; empty, or a node
	// without it: the cluster.
	Label string
	// Rack is a label; the nodes with the same value of it share their power. Empty:
	// those of an NVLink domain do.
	Rack string
	// Contract is the ConfigMap that says what a group can carry; the zero value is
	// none.
	Contract ConfigMap
	// Prometheus is the URL of the server that knows the demand.
	Prometheus string
	// Serving says with whom a worker of this node takes turns to be restarted; it may
	// be nil where none does.
	Serving func(fault.Workload) (Serving, bool)
	// Turn is how long such a turn is respected; 0 is DefaultTurn.
	Turn time.Duration
}

// times are how long things may take.
type times struct{ lease, leave, write, survey, turn time.Duration }

// Fleet asks for one node. Its methods are called from one goroutine.
type Fleet struct {
	Options

	times times
	// lease is the group's, load that of the contract's nodes, and rack that of the
	// node's rack.
	lease, load, rack lease
	size              size
	// arrives is until when what was begun by the last leave may reach the Node.
	arrives time.Time
	turns   map[Serving]*turn
	// seen is what was seen when the group of nodes was asked last.
	seen Survey
}

// New asks nobody anything.
func New(o Options) (*Fleet, error) {
	if o.Node == "" || o.Client == nil || o.Namespace == "" {
		return nil, errors.New("ask the group: want a node, a client and a namespace")
	}
	if o.Serving == nil {
		o.Serving = func(fault.Workload) (Serving, bool) { return Serving{}, false }
	}
	t := times{LeaseTime, LeaveTime, writeTime, surveyTime, cmp.Or(o.Turn, DefaultTurn)}
	l := lease{client: o.Client.Leases, namespace: o.Namespace, node: o.Node, time: t.lease}
	return &Fleet{Options: o, times: t, lease: l, load: l, rack: l, turns: map[Serving]*turn{}}, nil
}

// Survey is what was seen of the group when it was asked last, for people.
type Survey struct {
	At    time.Time `json:"at"`
	Group string    `json:"group"`
	Nodes int       `json:"nodes"`
	// Out counts the other nodes that are out of service, Leave those of them that
	// are by leave; Budget is how many may be.
	Out    int `json:"out"`
	Leave  int `json:"leave"`
	Budget int `json:"budget"`
	// Load is what the contract's group carries; nil without a contract.
	Load *guard.Load `json:"load,omitempty"`
	// Error is why the group could not be asked; empty when it could.
	Error string `json:"error,omitempty"`
}

// Ask asks for leave, and for the turns of restarts; leave says that the node goes by one already, which its mark
// shows. Where a new one is given the Lease is kept until Settle.
func (f *Fleet) Ask(ctx context.Context, asks []guard.Ask, leave bool) (remediate.Reply, Survey) {
	ctx, cancel := context.WithTimeout(ctx, f.times.survey)
	defer cancel()
	began := time.Now()
	turns, others := split(asks, restarts)
	var answer remediate.Reply
	if len(others) > 0 {
		answer, f.seen = f.leaves(ctx, others, leave)
	}
	if f.takeTurns(ctx, turns, &answer); answer.Until.IsZero() {
		answer.Until = began.Add(f.times.leave)
	}
	return answer, f.seen
}

// split parts those that are from those that are not.
func split(asks []guard.Ask, are func(guard.Ask) bool) (those, others []guard.Ask) {
	for _, a := range asks {
		if are(a) {
			those = append(those, a)
		} else {
			others = append(others, a)
		}
	}
	return those, others
}

// leaves asks the group of nodes.
func (f *Fleet) leaves(ctx context.Context, asks []guard.Ask, leave bool) (remediate.Reply, Survey) {
	answer, facts, err := f.ask(ctx, asks, leave)
	s := Survey{At: time.Now(), Group: facts.Group, Nodes: facts.Nodes, Budget: f.Rules.Budget.Of(facts.Nodes), Load: facts.Load}
	for _, p := range facts.Peers {
		s.Out += number(p.Out)
		s.Leave += number(p.Leave)
	}
	if err != nil {
		s.Error = err.Error()
		answer = refuse(asks, guard.Hold{Kind: guard.NoAnswer, Why: "the group cannot be asked: " + err.Error(), Until: "it answers"})
	}
	return answer, s
}

func (f *Fleet) ask(ctx context.Context, asks []guard.Ask, leave bool) (remediate.Reply, guard.Facts, error) {
	facts, err := f.survey(ctx, asks)
	if err != nil {
		return remediate.Reply{}, facts, err
	}
	facts.Leave = facts.Leave && leave
	// Who is held needs no Lease to hear it, nor who takes nothing.
	first := f.decide(facts, asks)
	if !slices.ContainsFunc(first.Granted, takes) && !slices.ContainsFunc(asks, releases) {
		first.Until = facts.At.Add(f.times.leave)
		return first, facts, f.clearable(ctx, facts.Group, first)
	}
	began := time.Now()
	holder, err := f.take(ctx, facts, asks)
	if err != nil {
		return remediate.Reply{}, facts, err
	}
	if holder != "" {
		return refuse(asks, guard.Hold{Kind: guard.InTurn, Why: "leave is given to one node at a time, and " + holder + " is just given it",
			Until: "that is seen on its Node, or it is not heard of for " + f.times.lease.String()}), facts, f.settled(ctx)
	}
	if err := f.see(ctx, &facts, asks); err != nil {
		return remediate.Reply{}, facts, err // the Lease is given back by the next Settle
	}
	answer := f.decide(facts, asks)
	f.pace(facts, &answer, asks)
	answer.Until = began.Add(f.times.leave)
	answer.Leave = !facts.Leave && slices.ContainsFunc(answer.Granted, takesOut)
	if answer.Leave || slices.ContainsFunc(answer.Granted, byClock) {
		f.arrives = began.Add(f.times.leave + f.times.write)
		return answer, facts, nil
	}
	return answer, facts, f.settled(ctx)
}

// clearable makes the Lease on which a person clears an outbreak, where one holds that is
// the group's first business.
func (f *Fleet) clearable(ctx context.Context, group string, answer remediate.Reply) error {
	rollout := func(h guard.Hold) bool { return h.Kind == guard.Rollout }
	if !slices.ContainsFunc(answer.Held, func(r remediate.Refusal) bool { return slices.ContainsFunc(r.Holds, rollout) }) {
		return nil
	}
	return f.lease.exist(ctx, group)
}

// take takes the Leases that the asks need, and names who has one of them instead. What
// a contract's nodes carry they carry together, whatever groups they are of.
func (f *Fleet) take(ctx context.Context, facts guard.Facts, asks []guard.Ask) (holder string, err error) {
	holder, err = f.lease.take(ctx, facts.Group)
	if holder == "" && err == nil && facts.Load != nil && slices.ContainsFunc(asks, takesOut) {
		holder, err = f.load.take(ctx, "contract "+facts.Load.Contract)
	}
	rack := facts.Rack.Name
	if holder != "" || err != nil || rack == "" || rack == facts.Group || !slices.ContainsFunc(asks, byClock) {
		return holder, err
	}
	return f.rack.take(ctx, rack)
}

// settled gives back what was taken in vain, where that may be.
func (f *Fleet) settled(ctx context.Context) error {
	if err := f.giveBack(ctx); !errors.Is(err, errKept) {
		return err
	}
	return nil
}

// decide has the guards decide all asks but those for a release.
func (f *Fleet) decide(facts guard.Facts, asks []guard.Ask) (answer remediate.Reply) {
	for _, a := range asks {
		if releases(a) {
			continue
		}
		if holds := f.Rules.Decide(facts, a); len(holds) > 0 {
			answer.Held = append(answer.Held, remediate.Refusal{Ask: a, Holds: holds})
			continue
		}
		answer.Granted = append(answer.Granted, a)
	}
	return answer
}

// pace lets this node go back to service, if it is its turn. What the Lease then
// says of it is written when it is given back.
func (f *Fleet) pace(facts guard.Facts, answer *remediate.Reply, asks []guard.Ask) {
	asks = slices.DeleteFunc(slices.Clone(asks), func(a guard.Ask) bool { return !releases(a) })
	if len(asks) == 0 {
		return
	}
	released, hold := f.Rules.Release(facts, f.lease.released())
	if hold != nil {
		for _, a := range asks {
			answer.Held = append(answer.Held, remediate.Refusal{Ask: a, Holds: []guard.Hold{*hold}})
		}
		return
	}
	f.lease.release(released)
	answer.Granted = append(answer.Granted, asks...)
}

// errKept is why a Lease is not given back yet.
var errKept = errors.New("the Lease is kept: a write that was begun may still reach the Node")

// Settle gives the Leases back, if this node has any: at once where the leave is seen
// on the Node, else not before anything that was begun has arrived there. It has to
// be called again after an error.
func (f *Fleet) Settle(ctx context.Context, seen bool) error {
	if seen {
		f.arrives = time.Time{}
	}
	ctx, cancel := context.WithTimeout(ctx, f.times.survey)
	defer cancel()
	return f.giveBack(ctx)
}

func (f *Fleet) giveBack(ctx context.Context) error {
	if time.Now().Before(f.arrives) {
		return errKept
	}
	return errors.Join(f.rack.giveBack(ctx), f.load.giveBack(ctx), f.lease.giveBack(ctx))
}

func releases(a guard.Ask) bool { return a.Action == guard.Release }
func byClock(a guard.Ask) bool  { return a.Action == guard.Scheduled }
func takesOut(a guard.Ask) bool { return a.Action.TakesOut() }
func takes(a guard.Ask) bool    { return a.Action != guard.Request }

// refuse holds all asks, each by the guard that counts for it.
func refuse(asks []guard.Ask, h guard.Hold) (answer remediate.Reply) {
	for _, a := range asks {
		switch a.Action {
		case guard.Scheduled:
			h.Guard = guard.Schedule
		case guard.Release:
			h.Guard = guard.Ramp
		case guard.Request:
			h.Guard = guard.Outbreak
		default:
			h.Guard = guard.Budget
		}
		answer.Held = append(answer.Held, remediate.Refusal{Ask: a, Holds: []guard.Hold{h}})
	}
	return answer
}

func number(b bool) int {
	if b {
		return 1
	}
	return 0
}

// failed says what could not be done.
func failed(what string, err error) error { return fmt.Errorf("%s: %w", what, err) }
