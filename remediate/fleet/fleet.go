package fleet

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

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
	// Contract is the ConfigMap that says what a group can carry; the zero value is
	// none.
	Contract ConfigMap
	// Prometheus is the URL of the server that knows the demand.
	Prometheus string
}

// times are how long things may take.
type times struct{ lease, leave, write, survey time.Duration }

// Fleet asks for one node. Its methods are called from one goroutine.
type Fleet struct {
	Options

	times times
	lease lease
	size  size
	// arrives is until when what was begun by the last leave may reach the Node.
	arrives time.Time
}

// New asks nobody anything.
func New(o Options) (*Fleet, error) {
	if o.Node == "" || o.Client == nil || o.Namespace == "" {
		return nil, errors.New("ask the group: want a node, a client and a namespace")
	}
	t := times{LeaseTime, LeaveTime, writeTime, surveyTime}
	return &Fleet{Options: o, times: t, lease: lease{client: o.Client.Leases, namespace: o.Namespace, node: o.Node, time: t.lease}}, nil
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

// Ask asks for leave; leave says that the node goes by one already, which its mark
// shows. Where a new one is given the Lease is kept until Settle.
func (f *Fleet) Ask(ctx context.Context, asks []guard.Ask, leave bool) (remediate.Reply, Survey) {
	ctx, cancel := context.WithTimeout(ctx, f.times.survey)
	defer cancel()
	answer, facts, err := f.ask(ctx, asks, leave)
	s := Survey{At: time.Now(), Group: facts.Group, Nodes: facts.Nodes, Budget: f.Rules.Budget.Of(facts.Nodes), Load: facts.Load}
	for _, p := range facts.Peers {
		s.Out += number(p.Out)
		s.Leave += number(p.Leave)
	}
	if err != nil {
		s.Error = err.Error()
		answer = refuse(asks, guard.Hold{Guard: guard.Budget, Why: "the group cannot be asked: " + err.Error(), Until: "it answers"})
	}
	return answer, s
}

func (f *Fleet) ask(ctx context.Context, asks []guard.Ask, leave bool) (remediate.Reply, guard.Facts, error) {
	facts, err := f.survey(ctx, asks)
	if err != nil {
		return remediate.Reply{}, facts, err
	}
	facts.Leave = facts.Leave && leave
	// Who is held needs no Lease to hear it.
	if first := f.decide(facts, asks); len(first.Granted) == 0 && !slices.ContainsFunc(asks, releases) {
		return first, facts, nil
	}
	began := time.Now()
	holder, err := f.lease.take(ctx, facts.Group)
	if err != nil {
		return remediate.Reply{}, facts, err
	}
	if holder != "" {
		return refuse(asks, guard.Hold{Guard: guard.Budget, Why: "the group gives leave to one node at a time, and " + holder + " is just given it",
			Until: "that is seen on its Node, or it is not heard of for " + f.times.lease.String()}), facts, nil
	}
	if facts.Peers, err = f.peers(ctx, facts.Group, asks); err != nil {
		return remediate.Reply{}, facts, err // the Lease is given back by the next Settle
	}
	answer := f.decide(facts, asks)
	f.pace(facts, &answer, asks)
	answer.Until = began.Add(f.times.leave)
	if !facts.Leave && slices.ContainsFunc(answer.Granted, func(a guard.Ask) bool { return !releases(a) }) {
		answer.Leave, f.arrives = true, began.Add(f.times.leave+f.times.write)
		return answer, facts, nil
	}
	if err := f.giveBack(ctx); err != nil && !errors.Is(err, errKept) {
		return remediate.Reply{}, facts, err
	}
	return answer, facts, nil
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
		answer.Held = append(answer.Held, refuse(asks, *hold).Held...)
		return
	}
	f.lease.release(released)
	answer.Granted = append(answer.Granted, asks...)
}

// errKept is why a Lease is not given back yet.
var errKept = errors.New("the Lease is kept: a write that was begun may still reach the Node")

// Settle gives the Lease back, if this node has it: at once where the leave is seen
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
	return f.lease.giveBack(ctx)
}

func releases(a guard.Ask) bool { return a.Action == guard.Release }

func refuse(asks []guard.Ask, h guard.Hold) (answer remediate.Reply) {
	for _, a := range asks {
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
