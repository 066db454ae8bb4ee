package probe

import (
	"sync"
	"time"
)

// noGPU stands for the index where a call is about no GPU.
const noGPU = -1

// call is one driver call in progress; without a name there is none.
type call struct {
	name  string
	gpu   int       // the index of the GPU that it is about, or noGPU
	since time.Time // from when on it is expected back
}

func newCall(name string) call { return call{name: name, gpu: noGPU, since: time.Now()} }

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

func (t *track) enter(c call) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.in = c
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
