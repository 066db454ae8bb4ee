package serving

import (
	"context"
	"time"
)

// request is one that the engine has taken.
type request struct {
	ctx            context.Context
	life           *life
	cut            chan struct{}
	rank           int
	prompt, answer int // tokens
	cold           bool
	arrived        time.Time
}

// take takes a request; it waits in the queue of the rank with the fewest.
func (e *Engine) take(ctx context.Context, prompt, answer int) *request {
	q := &request{ctx: ctx, prompt: prompt, answer: answer, arrived: time.Now()}
	e.change(func() {
		q.life, q.cut = e.life, e.life.cut
		for n, r := range q.life.ranks {
			if least := q.life.ranks[q.rank]; r.running+r.waiting < least.running+least.waiting {
				q.rank = n
			}
		}
		q.life.taken++
		q.cold = q.life.taken <= e.options.Cold
		q.on().waiting++
	})
	return q
}

func (q *request) on() *rank { return q.life.ranks[q.rank] }

// serve computes a request and calls token for each of its tokens, as they come. It
// returns false where the request was cut, or its client has gone.
func (e *Engine) serve(q *request, token func()) bool {
	if !e.await(q, func() bool { return e.begin(q) }) {
		e.change(func() { q.on().waiting-- })
		return false
	}
	defer e.change(func() { q.on().running-- })
	if !e.compute(q, float64(q.prompt)/e.options.PromptRate) {
		return false
	}
	e.change(func() { q.on().prompt += q.prompt })
	for n, last := 0, q.arrived; n < q.answer; n++ {
		if !e.compute(q, 1/e.options.TokenRate) {
			return false
		}
		since := time.Since(last)
		last = time.Now()
		e.change(func() { q.on().token(n, since) })
		token()
	}
	e.change(func() { q.on().end(q) })
	return true
}

// begin moves a request from the queue onto its rank, where there is room.
func (e *Engine) begin(q *request) bool {
	r := q.on()
	if e.faults.still(q.rank) || r.running >= e.options.Slots {
		return false
	}
	r.waiting--
	r.running++
	return true
}

// compute takes so long as one step does at the engine's speed, and longer where it
// stands still.
func (e *Engine) compute(q *request, seconds float64) bool {
	e.mu.Lock()
	seconds *= e.faults.slow
	e.mu.Unlock()
	if q.cold {
		seconds *= coldness
	}
	timer := time.NewTimer(time.Duration(seconds * float64(time.Second)))
	defer timer.Stop()
	select {
	case <-q.ctx.Done():
		return false
	case <-q.cut:
		return false
	case <-timer.C:
	}
	return e.await(q, func() bool { return !e.faults.still(q.rank) })
}

// token counts the n-th token of a request, which came so long after the one before,
// or after the request.
func (r *rank) token(n int, since time.Duration) {
	r.generated++
	r.steps++
	if n == 0 {
		r.firstToken.observe(since.Seconds())
		return
	}
	r.between.observe(since.Seconds())
}

// end counts a request that has ended well.
func (r *rank) end(q *request) {
	r.finished++
	r.donePrompt += q.prompt
	r.doneTokens += q.answer
	r.whole.observe(time.Since(q.arrived).Seconds() / float64(max(1, q.answer)))
}
