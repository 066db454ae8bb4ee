package agent

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/gpuhealthd/gpuhealthd/remediate"
)

// Fencer fences devices by themselves: a dra.Fencer.
type Fencer interface {
	// Fence makes the wanted fences stand and removes those that end and all others of
	// this node, and says of each what came of it. It may be called any number of times.
	Fence(ctx context.Context, want []remediate.Fence) ([]remediate.Fenced, error)
}

// fenced is what came of the fences.
type fenced struct{ all []remediate.Fenced }

func (fenced) isMessage() {}

const (
	// fenceEvery is the time between two looks whether the fences still stand, while
	// there are any: an administrator may take one away.
	fenceEvery = time.Minute
	// fenceAgain is how long what cannot be fenced waits for the next trial: the
	// cluster has no such API, or the GPU is not listed.
	fenceAgain = 10 * time.Minute
)

// fencer has fences made as the plan wants them.
type fencer struct {
	log   *slog.Logger
	core  *core
	act   Fencer
	delay time.Duration
	wake  bell

	mu    sync.Mutex
	known bool
	want  []remediate.Fence
}

func newFencer(opts Options, c *core) *fencer {
	return &fencer{log: opts.Log, core: c, act: opts.Fencer, delay: opts.FenceDelay, wake: newBell()}
}

// wants takes the newest wish, once there is one.
func (f *fencer) wants(want []remediate.Fence, known bool) {
	f.mu.Lock()
	news := known && (!f.known || !slices.EqualFunc(f.want, want, asBefore))
	f.known, f.want = f.known || known, want
	f.mu.Unlock()
	if news {
		f.wake.ring()
	}
}

// asBefore says whether nothing more is to be done for a fence than before. One that
// the node may not rely on any more is made anew at once.
func asBefore(had, f remediate.Fence) bool {
	return had.Key() == f.Key() && had.Ends == f.Ends && (f.InForce() || !had.InForce())
}

func (f *fencer) wanted() []remediate.Fence {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.want)
}

// run keeps the fences until ctx is done. Where nothing is wanted at the start it only
// looks, after a while, whether an agent before it has left one behind.
func (f *fencer) run(ctx context.Context) {
	again := time.NewTimer(fenceEvery)
	again.Stop()
	defer again.Stop()
	pause, first := firstPause, true
	for {
		select {
		case <-ctx.Done():
			return
		case <-f.wake:
		case <-again.C:
			first = false
		}
		want := f.wanted()
		if first && len(want) == 0 && f.delay > 0 {
			again.Reset(rand.N(f.delay))
			continue
		}
		first = false
		next, err := f.turn(ctx, want)
		if err != nil {
			f.log.Warn("devices are not fenced as they should be", "error", err)
			again.Reset(pause/2 + rand.N(pause/2))
			pause = min(2*pause, lastPause)
			continue
		}
		if pause = firstPause; next > 0 {
			again.Reset(next)
		} else {
			again.Stop()
		}
	}
}

// turn makes the fences once, and says when to look again; 0 is never.
func (f *fencer) turn(ctx context.Context, want []remediate.Fence) (next time.Duration, err error) {
	try, cancel := context.WithTimeout(ctx, tryLimit)
	defer cancel()
	all, err := f.act.Fence(try, want)
	for _, one := range all {
		switch {
		case one.Why == "" && !one.Ends:
			next = fenceEvery
		case one.Why != "" && next == 0:
			next = fenceAgain
		}
	}
	if len(all) > 0 {
		f.core.tell(ctx, fenced{all})
	}
	return next, err
}

// fences gives the plan's fences, with the MIG devices that the driver names.
func (c *core) fences() (want []remediate.Fence, known bool) {
	want, known = c.plan.Fences()
	listed := c.listedGPUs.Load()
	for n := range want {
		if want[n].Instance == nil || listed == nil {
			continue
		}
		for _, g := range *listed {
			for _, m := range g.Instances {
				if g.UUID == want[n].GPU && m.GI == *want[n].Instance {
					want[n].MIG = append(want[n].MIG, m.UUID)
				}
			}
		}
	}
	return want, known
}
