package canary

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/gpuhealthd/gpuhealthd/serving"
)

// Config says how often who is asked, and what an answer has to be like.
type Config struct {
	// Period is the time between two requests to one replica.
	Period time.Duration
	// PerMinute is how many requests all replicas together may get.
	PerMinute int
	Limits    Limits
}

// Default is what holds where a site says nothing.
func Default() Config {
	return Config{Period: 12 * time.Second, PerMinute: 60, Limits: DefaultLimits()}
}

const (
	// dialLimit is how long a connection may take.
	dialLimit = 3 * time.Second
	// again is when a replica is asked anew that has not taken a request: it may be
	// loading its model, and has computed nothing for us.
	again = 3 * time.Second
)

// Prober sends the requests.
type Prober struct {
	cfg    Config
	client *http.Client
	number uint64
	// sent is when each target was asked last, busy has those that are being asked.
	mu   sync.Mutex
	sent map[key]time.Time
	busy map[key]bool
}

// key is an endpoint of one life of a replica: the next one is asked at once.
type key struct{ replica, life, url string }

// New makes a prober. start numbers the first prompt: another number, such as the
// time, keeps an engine from answering out of what it has read before.
func New(cfg Config, start uint64) *Prober {
	dial := net.Dialer{Timeout: dialLimit}
	return &Prober{cfg: cfg, number: start, sent: map[key]time.Time{}, busy: map[key]bool{},
		client: &http.Client{
			// Straight to the replica: no proxy, and nobody who sends us elsewhere. Its
			// certificate is for its users' name, not for its address.
			Transport:     &http.Transport{DialContext: dial.DialContext, DisableKeepAlives: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		}}
}

// Run asks those whom targets gives, until ctx is done; while it gives none,
// nobody is asked. out may be called by several goroutines at once.
func (p *Prober) Run(ctx context.Context, targets func() []Target, out func(serving.Probe)) {
	var probes sync.WaitGroup
	defer probes.Wait()
	turn := time.NewTicker(time.Minute / time.Duration(p.cfg.PerMinute))
	defer turn.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-turn.C:
			t, due := p.next(now, targets())
			if !due {
				continue
			}
			p.number++
			number := p.number
			probes.Go(func() {
				result := probe(ctx, p.client, t, p.cfg.Limits, number)
				p.over(t, result.Outcome)
				if ctx.Err() == nil { // what we have cut off ourselves says nothing
					out(result)
				}
			})
		}
	}
}

// next gives the target that has waited longest, if it has waited long enough, and
// counts it as asked. Who is no target any more is forgotten.
func (p *Prober) next(now time.Time, targets []Target) (chosen Target, due bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	sent := map[key]time.Time{}
	for _, t := range targets {
		last, known := p.sent[t.key()]
		if known {
			sent[t.key()] = last
		}
		if p.busy[t.key()] || known && now.Sub(last) < p.cfg.Period {
			continue
		}
		if !due || last.Before(sent[chosen.key()]) {
			chosen, due = t, true
		}
	}
	if p.sent = sent; due {
		p.sent[chosen.key()], p.busy[chosen.key()] = now, true
	}
	return chosen, due
}

// over takes in that a target is asked no more.
func (p *Prober) over(t Target, o serving.Outcome) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.busy, t.key())
	if sent, known := p.sent[t.key()]; known && o == serving.Unreachable {
		p.sent[t.key()] = sent.Add(min(0, again-p.cfg.Period))
	}
}

func (t Target) key() key { return key{t.Replica.Name, t.Replica.Life, t.URL} }
