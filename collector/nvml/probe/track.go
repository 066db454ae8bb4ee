package probe

import (
	"sync"
	"time"
)

// call is one driver call in progress; without a name there is none.
type call struct {
	name  string
	since time.Time
}

func (c call) age(now time.Time) time.Duration {
	if c.name == "" {
		return 0
	}
	return now.Sub(c.since)
}

// track tells one goroutine which call another one is in.
type track struct {
	mu sync.Mutex
	in call
}

func (t *track) enter(name string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.in = call{name: name, since: time.Now()}
}

func (t *track) leave() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.in = call{}
}

func (t *track) current() call {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.in
}
