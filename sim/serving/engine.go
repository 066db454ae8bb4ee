package serving

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// Options are an engine's size and speed. Zero values are those of the comment.
type Options struct {
	// Kind is whose metrics it speaks: one of Kinds; vllm.
	Kind string
	// Model is the model's name; sim.
	Model string
	// Ranks are data-parallel engines behind the one endpoint; 1.
	Ranks int
	// Slots are how many requests a rank computes on at once, others wait; 8.
	Slots int
	// PromptRate and TokenRate are tokens a second of each request, of its prompt and
	// of its answer; 4000 and 50.
	PromptRate, TokenRate float64
	// Cold is how many requests of a new process are slowed down tenfold; 0.
	Cold int
	// Prefill is the URL of a prefill engine, which makes this one a decode worker of
	// disaggregated serving; OnFailure is then what it does where it cannot read a KV
	// cache: fail, or recompute.
	Prefill, OnFailure string
	// Bare leaves the samples of its metrics away, and only says of which there are.
	Bare bool
}

// coldness is how much slower a cold engine is.
const coldness = 10

// Engine is a running one. Its methods may be called from any goroutine.
type Engine struct {
	options Options
	mux     *http.ServeMux

	mu      sync.Mutex
	changed chan struct{} // closed, and made anew, at every change that may let a request go on
	life    *life
	faults  faults
	handle  string // of the prefill engine's memory; empty before it was asked
}

// life is what ends with the engine's process.
type life struct {
	id    string
	began time.Time
	ranks []*rank
	taken int           // requests so far
	cut   chan struct{} // closed when every connection is cut
}

// rank is one of the data-parallel engines.
type rank struct {
	running, waiting           int
	prompt, generated          int // tokens, counted as they come
	steps                      int // passes through the model
	finished                   int // requests
	donePrompt, doneTokens     int // tokens of finished requests
	shown                      shown
	firstToken, between, whole histogram // whole is a finished request's mean for each token
}

// New makes an engine that is ready at once.
func New(options Options) (*Engine, error) {
	o := &options
	for _, d := range []struct {
		value *int
		or    int
	}{{&o.Ranks, 1}, {&o.Slots, 8}} {
		if *d.value == 0 {
			*d.value = d.or
		}
	}
	if o.Kind == "" {
		o.Kind = "vllm"
	}
	if o.Model == "" {
		o.Model = "sim"
	}
	if o.PromptRate == 0 {
		o.PromptRate = 4000
	}
	if o.TokenRate == 0 {
		o.TokenRate = 50
	}
	if !slices.Contains(Kinds(), o.Kind) {
		return nil, fmt.Errorf("engine %q: want one of %s", o.Kind, strings.Join(Kinds(), ", "))
	}
	if o.OnFailure == "" {
		o.OnFailure = "fail"
	}
	if o.OnFailure != "fail" && o.OnFailure != "recompute" {
		return nil, fmt.Errorf("engine: on failure %q: want fail or recompute", o.OnFailure)
	}
	if o.Ranks < 1 || o.Slots < 1 || o.PromptRate < 0 || o.TokenRate < 0 || o.Cold < 0 {
		return nil, fmt.Errorf("engine: %+v: want no value below zero", *o)
	}
	if o.Ranks > 1 && o.Kind != "vllm" {
		return nil, fmt.Errorf("engine %s: %d ranks: its metrics cannot tell them apart", o.Kind, o.Ranks)
	}
	e := &Engine{options: options, changed: make(chan struct{}), faults: faults{slow: 1}}
	e.life = e.born()
	e.route()
	return e, nil
}

// born begins a process's life, with every counter at 0.
func (e *Engine) born() *life {
	l := &life{id: rand.Text(), began: time.Now(), cut: make(chan struct{})}
	e.handle = ""
	for range e.options.Ranks {
		l.ranks = append(l.ranks, &rank{})
	}
	return l
}

// tokens are how many a rank has computed so far, prompts included: they rise while it
// works.
func (e *Engine) tokens(rank int) int {
	e.mu.Lock()
	defer e.mu.Unlock()
	r := e.life.ranks[rank]
	return r.prompt + r.generated
}

// Follow tells, once a period until ctx ends, whether a rank has computed tokens in it:
// at first, and when that changes. Ranks are counted from 0.
func (e *Engine) Follow(ctx context.Context, rank int, period time.Duration, tell func(busy bool)) {
	ticker := time.NewTicker(period)
	defer ticker.Stop()
	before, told := e.tokens(rank), false
	for tell(told); ; {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		now := e.tokens(rank)
		if busy := now != before; busy != told {
			told = busy
			tell(told)
		}
		before = now
	}
}

// change does what is to be done under the lock and wakes who waits.
func (e *Engine) change(do func()) {
	e.mu.Lock()
	defer e.mu.Unlock()
	do()
	close(e.changed)
	e.changed = make(chan struct{})
}

// await returns when try, which is called under the lock, has succeeded, or false
// when the request is over before.
func (e *Engine) await(q *request, try func() bool) bool {
	for {
		e.mu.Lock()
		done, changed := try(), e.changed
		e.mu.Unlock()
		if done {
			return true
		}
		select {
		case <-q.ctx.Done():
			return false
		case <-q.cut:
			return false
		case <-changed:
		}
	}
}
