package agent

import (
	"context"
	"sync"

	"github.com/gpuhealthd/gpuhealthd/remediate"
)

// crasher stands between an agent and the world, and ends all of the agent's
// doings at its points.
type crasher struct {
	s *stage
	// kill ends this process; nil only freezes the agent.
	kill func()
	// passed runs at each point that is survived.
	passed func()
	// atRestart runs between the death of one agent and the start of the next.
	atRestart func()

	mu sync.Mutex
	// at are the points to die at, each counted from the start or from the death
	// before it; 0 is none. n counts them.
	at      []int
	n       int
	dead    bool
	content []byte
}

// point counts a place to crash at, and says whether the agent is dead.
func (c *crasher) point() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.dead {
		return true
	}
	if c.n++; len(c.at) > 0 && c.n == c.at[0] {
		c.at, c.n = c.at[1:], 0
		c.end()
	}
	if c.passed != nil && !c.dead {
		c.passed()
	}
	return c.dead
}

func (c *crasher) end() {
	if c.kill != nil {
		c.kill()
	}
	c.dead, c.content = true, c.s.bytesOnDisk()
}

// alive says whether the agent is.
func (c *crasher) alive() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return !c.dead
}

// die ends the agent here and now, as the host does that goes down.
func (c *crasher) die() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.dead {
		c.end()
	}
}

// does has an effect on the world, unless the agent is dead before, and says
// whether it is alive after it.
func (c *crasher) does(effect func()) bool {
	if c.point() {
		return false
	}
	c.mu.Lock()
	if !c.dead {
		effect()
	}
	c.mu.Unlock()
	return !c.point()
}

func (c *crasher) Apply(ctx context.Context, want remediate.Desired) (seen remediate.Observed, err error) {
	if !c.does(func() { seen, err = c.s.world.Apply(ctx, want) }) {
		return remediate.Observed{}, blocks(ctx)
	}
	return seen, err
}

func (c *crasher) Emit(ctx context.Context, e remediate.Event) (err error) {
	if !c.does(func() { err = c.s.world.Emit(ctx, e) }) {
		return blocks(ctx)
	}
	return err
}

// restarted lets another agent take over, if this one is dead.
func (c *crasher) restarted() {
	c.mu.Lock()
	dead, content := c.dead, c.content
	c.mu.Unlock()
	if !dead {
		return
	}
	c.s.stop()
	c.s.write(string(content))
	if c.atRestart != nil {
		c.atRestart()
	}
	c.mu.Lock()
	c.dead = false
	c.mu.Unlock()
	c.s.start()
}
