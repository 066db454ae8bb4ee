package agent

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/gpuhealthd/gpuhealthd/remediate"
	"github.com/gpuhealthd/gpuhealthd/remediate/fleet"
	"github.com/gpuhealthd/gpuhealthd/remediate/guard"
)

// Group is asked for leave: a fleet.Fleet. Its methods are called one at a time.
type Group interface {
	// Ask says by leave that the node has one, and it is seen.
	Ask(ctx context.Context, asks []guard.Ask, leave bool) (remediate.Reply, fleet.Survey)
	// Settle ends what a leave kept from others; it is called again after an error.
	Settle(ctx context.Context, seen bool) error
}

// answered is what the group says; taken is closed once its effects are published.
type answered struct {
	answer remediate.Reply
	survey fleet.Survey
	taken  chan struct{}
}

func (answered) isMessage() {}

// What is held is asked for again, at first soon and then less often: somebody else
// may just be given leave, or the group may have no room for hours.
const (
	firstAsk = 500 * time.Millisecond
	lastAsk  = 15 * time.Second
	// clockAsk is the longest pause where nothing but a diagnosis by the clock is
	// wanted: it has all night, and a thousand nodes may wait for one turn.
	clockAsk = 2 * time.Minute
)

// guardian asks the group for what the plan would do, and only then.
type guardian struct {
	log   *slog.Logger
	core  *core
	group Group
	wake  bell

	mu          sync.Mutex
	asks        []guard.Ask
	leave, turn *remediate.Leave
}

func newGuardian(opts Options, c *core) *guardian {
	return &guardian{log: opts.Log, core: c, group: opts.Group, wake: newBell()}
}

// want takes the present asks, and how far the leaves are.
func (g *guardian) want(asks []guard.Ask, leave, turn *remediate.Leave) {
	g.mu.Lock()
	news := !slices.Equal(g.asks, asks) || stateOf(g.leave) != stateOf(leave) || stateOf(g.turn) != stateOf(turn)
	g.asks, g.leave, g.turn = asks, leave, turn
	g.mu.Unlock()
	if news {
		g.wake.ring()
	}
}

// leaveState is how far a leave is.
type leaveState int

const (
	noLeave leaveState = iota
	// onItsWay: given, and not yet seen on the Node.
	onItsWay
	shown
)

func stateOf(l *remediate.Leave) leaveState {
	switch {
	case l == nil:
		return noLeave
	case !l.Seen:
		return onItsWay
	}
	return shown
}

func (g *guardian) wanted() (asks []guard.Ask, leave, turn leaveState) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.asks, stateOf(g.leave), stateOf(g.turn)
}

// run asks until ctx is done.
func (g *guardian) run(ctx context.Context) {
	pause := firstAsk
	again := time.NewTimer(lastAsk)
	again.Stop()
	defer again.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-g.wake:
			pause = firstAsk
		case <-again.C:
		}
		if g.once(ctx) {
			again.Stop()
			continue
		}
		again.Reset(pause/2 + rand.N(pause/2))
		pause = min(2*pause, g.longest())
	}
}

// longest is how long may lie between two questions.
func (g *guardian) longest() time.Duration {
	asks, _, _ := g.wanted()
	if len(asks) > 0 && !slices.ContainsFunc(asks, func(a guard.Ask) bool { return a.Action != guard.Scheduled }) {
		return clockAsk
	}
	return lastAsk
}

// once settles what was granted, or asks for what is wanted, and says whether
// nothing is left to be done.
func (g *guardian) once(ctx context.Context) bool {
	asks, leave, turn := g.wanted()
	if leave == onItsWay || turn == onItsWay {
		return true // the plan says when it is seen, or void
	}
	err := g.group.Settle(ctx, leave == shown || turn == shown)
	if err != nil {
		g.log.Debug("the group's leave is not settled yet", "error", err)
	}
	if len(asks) == 0 {
		return err == nil
	}
	answer, survey := g.group.Ask(ctx, asks, leave == shown)
	if survey.Error != "" {
		g.log.Warn("the group cannot be asked for leave", "error", survey.Error)
	}
	m := answered{answer: answer, survey: survey, taken: make(chan struct{})}
	g.core.tell(ctx, m)
	select {
	case <-m.taken:
	case <-ctx.Done():
	}
	return false
}
