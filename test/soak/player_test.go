package soak

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/gpuhealthd/gpuhealthd/sim/node"
	"github.com/gpuhealthd/gpuhealthd/test/enginetest"
)

// part is what one engine does, again and again.
type part struct {
	name  string
	flags []string
	act   func(p *player)
}

// parts are those of a node with eight GPUs: all that is no stall, in several kinds of
// engines.
func parts() []part {
	return []part{
		{"bursts-and-pauses", []string{"-kind", "sglang"}, func(p *player) { // its counts lag
			p.requests(1+rand.IntN(20), 1, 20+rand.IntN(400))
			p.rest(time.Duration(rand.IntN(70)) * time.Second)
		}},
		{"queue-and-short-stops", []string{"-kind", "vllm-v0", "-slots", "2"}, func(p *player) {
			done := p.begin(30, 1, 100)
			p.rest(5 * time.Second)
			if p.Freeze() == nil {
				p.rest(time.Duration(2+rand.IntN(6)) * time.Second)
				_ = p.Thaw() // it ends with the test
			}
			p.await(done)
		}},
		{"one-token-in-10s", []string{"-kind", "sglang", "-token-rate", "0.1"}, func(p *player) { p.requests(1, 1, 30) }},
		{"long-prefill", []string{"-prompt-rate", "4"}, func(p *player) {
			done := p.begin(1, 100+rand.IntN(400), 20)
			p.shows(node.Busy) // the engine shows tokens alone
			p.await(done)
			p.shows(node.Idle)
			p.rest(10 * time.Second)
		}},
		{"sleeps", nil, func(p *player) {
			done := p.begin(4, 1, 500)
			p.fault("sleep on")
			p.rest(time.Duration(20+rand.IntN(60)) * time.Second)
			p.fault("sleep off")
			p.await(done)
		}},
		{"restarts-and-loads", []string{"-kind", "llamacpp", "-load", "25s"}, func(p *player) {
			p.rest(30 * time.Second)
			p.begin(8, 1, 5000)
			p.rest(20 * time.Second)
			p.Restart()
			p.shows(node.Idle)
		}},
		{"idle-with-ghost-use", []string{"-kind", "tgi"}, func(p *player) {
			p.requests(3, 1, 50)
			p.rest(time.Second) // it shows that it is idle
			p.shows(node.Ghost)
			p.rest(time.Minute)
		}},
		{"mute-and-at-work", []string{"-kind", "trtllm"}, func(p *player) {
			done := p.begin(8, 1, 3000)
			p.fault("hang-metrics on")
			p.rest(time.Duration(20+rand.IntN(40)) * time.Second)
			p.fault("hang-metrics off")
			p.await(done)
		}},
	}
}

// player plays a part until its test ends.
type player struct {
	*enginetest.Engine
	ctx context.Context
}

func newPlayer(ctx context.Context, e *enginetest.Engine) *player { return &player{e, ctx} }

func (p *player) play(part part) {
	for p.ctx.Err() == nil {
		part.act(p)
	}
}

// rest waits.
func (p *player) rest(long time.Duration) {
	select {
	case <-p.ctx.Done():
	case <-time.After(long):
	}
}

// begin sends requests at once, and gives who is to be waited for.
func (p *player) begin(times, words, tokens int) (done []<-chan bool) {
	for range times {
		done = append(done, p.Ask(p.ctx, words, tokens))
	}
	p.rest(time.Second) // they are there
	return done
}

// await returns when requests have ended, however that was: an engine that is not there
// refuses them.
func (p *player) await(done []<-chan bool) {
	for _, d := range done {
		<-d
	}
}

func (p *player) requests(times, words, tokens int) { p.await(p.begin(times, words, tokens)) }

// fault and shows do what they can: an engine that loads can be told nothing.
func (p *player) fault(text string)     { _ = p.Fault(text) }
func (p *player) shows(activity string) { _ = p.Show(activity) }
