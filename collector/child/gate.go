package child

import (
	"context"
	"fmt"
	"sync"
)

// Gate keeps a child away for as long as somebody else needs the GPUs for
// themselves: a process that has the driver open is in the way of a reset. The
// zero value is open.
type Gate struct {
	mu     sync.Mutex
	shut   bool
	lives  bool               // between enter and leave
	stop   context.CancelFunc // ends the present life
	left   error              // why the last life's child is still there
	change chan struct{}      // closed when any of these has changed
}

// Quiet ends the child in order and keeps another from starting until Resume.
// It returns nil once there is none, and an error where the child is still there
// when ctx is done, or when it was left behind inside a driver call. The gate is
// shut in either case.
func (g *Gate) Quiet(ctx context.Context) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.shut {
		g.shut = true
		g.changed()
	}
	for g.lives {
		if g.stop != nil {
			g.stop()
		}
		change := g.await()
		g.mu.Unlock()
		select {
		case <-change:
			g.mu.Lock()
		case <-ctx.Done():
			g.mu.Lock()
			return fmt.Errorf("the child is still there: %w", context.Cause(ctx))
		}
	}
	return g.left
}

// Resume lets a child start again.
func (g *Gate) Resume() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.shut = false
	g.changed()
}

// enter waits until the gate is open, and gives the context of a life.
func (g *Gate) enter(ctx context.Context) (context.Context, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for g.shut {
		change := g.await()
		g.mu.Unlock()
		select {
		case <-change:
		case <-ctx.Done():
		}
		g.mu.Lock()
		if err := ctx.Err(); err != nil {
			return nil, err
		}
	}
	life, stop := context.WithCancel(ctx)
	g.lives, g.stop, g.left = true, stop, nil
	return life, nil
}

// leave ends a life, whose child may have been left behind.
func (g *Gate) leave(left error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.stop()
	g.lives, g.stop, g.left = false, nil, left
	g.changed()
}

// isShut says whether no child may start.
func (g *Gate) isShut() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.shut
}

// await gives what is closed at the next change; the lock is held.
func (g *Gate) await() <-chan struct{} {
	if g.change == nil {
		g.change = make(chan struct{})
	}
	return g.change
}

// changed wakes whoever waits; the lock is held.
func (g *Gate) changed() {
	if g.change != nil {
		close(g.change)
		g.change = nil
	}
}
