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
)

// guardian asks the group for what the plan would do, and only then.
type guardian struct {
	log   *slog.Logger
	core  *core
	group Group
	wake  chan struct{}

	mu    sync.Mutex
	asks  []guard.Ask
	leave *remediate.Leave
}

func newGuardian(opts Options, c *core) *guardian {
	return &guardian{log: opts.Log, core: c, group: opts.Group, wake: make(chan struct{}, 1)}
}

// want takes the present asks, and how far the leave is.
func (g *guardian) want(asks []guard.Ask, leave *remediate.Leave) {
	g.mu.Lock()
	news := !slices.Equal(g.asks, asks) || (g.leave == nil) != (leave == nil) || leave != nil && leave.Seen != g.leave.Seen
	g.asks, g.leave = asks, leave
	g.mu.Unlock()
	if !news {
		return
	}
	select {
	case g.wake <- struct{}{}:
	default:
	}
}

func (g *guardian) wanted() ([]guard.Ask, *remediate.Leave) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.asks, g.leave
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
		if g.turn(ctx) {
			again.Stop()
			continue
		}
		again.Reset(pause/2 + rand.N(pause/2))
		pause = min(2*pause, lastAsk)
	}
}

// turn settles what was granted, or asks for what is wanted, and says whether
// nothing is left to be done.
func (g *guardian) turn(ctx context.Context) bool {
	asks, leave := g.wanted()
	if leave != nil && !leave.Seen {
		return true // the plan says when it is seen, or void
	}
	err := g.group.Settle(ctx, leave != nil)
	if err != nil {
		g.log.Debug("the group's leave is not settled yet", "error", err)
	}
	if len(asks) == 0 {
		return err == nil
	}
	answer, survey := g.group.Ask(ctx, asks, leave != nil)
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
