package serving

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/gpuhealthd/gpuhealthd/serving"
)

const (
	// grace is how long an endpoint may take to answer without the others being told
	// before it. Engines answer in a few milliseconds, under load in a hundred.
	grace = time.Second
	// together is how many endpoints are asked at once.
	together = 64
)

// Options say whom to ask, and how often.
type Options struct {
	// Targets gives the endpoints. It is called once a period and must not block.
	Targets func() []Target
	// Period is the time from one look to the next, Deadline how long an endpoint may
	// take; a Deadline above Period is cut to it.
	Period, Deadline time.Duration
	Dialects         *Dialects
	// Proc is the process file system of the host, such as /proc.
	Proc string
	// Transport is http's own kind of one where nil, without proxies.
	Transport http.RoundTripper
}

// Scraper asks endpoints.
type Scraper struct {
	options Options
	client  *http.Client
}

// New asks nobody anything yet.
func New(options Options) (*Scraper, error) {
	if options.Period <= 0 || options.Deadline <= 0 {
		return nil, fmt.Errorf("serving: period %v, deadline %v: want both above 0", options.Period, options.Deadline)
	}
	options.Deadline = min(options.Deadline, options.Period)
	return &Scraper{options: options, client: newClient(options.Transport)}, nil
}

// Run asks every endpoint each period, at once at first, until ctx ends, and calls
// out from one goroutine with the last look at each of them, in the order of the
// targets.
//
// Out is called when all have answered or are past their deadline. Where one takes
// long, and has been looked at before, it is called a second after the first question
// as well, so that the others need not wait for it. So a look may come in more than one
// list; its At tells.
func (s *Scraper) Run(ctx context.Context, out func([]serving.Scrape)) {
	ticker := time.NewTicker(s.options.Period)
	defer ticker.Stop()
	defer s.client.CloseIdleConnections()
	var last []serving.Scrape
	for {
		last = s.round(ctx, last, out)
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// answer is that of the n-th target.
type answer struct {
	n      int
	scrape serving.Scrape
}

// round asks every target once, and returns what the next one begins with.
func (s *Scraper) round(ctx context.Context, last []serving.Scrape, out func([]serving.Scrape)) []serving.Scrape {
	targets := s.options.Targets()
	looks := make([]*serving.Scrape, len(targets))
	for n, target := range targets {
		looks[n] = before(last, target)
	}
	answers := make(chan answer, len(targets))
	free := make(chan struct{}, together)
	for n, target := range targets {
		go func() {
			free <- struct{}{}
			answers <- answer{n, s.ask(ctx, target)}
			<-free
		}()
	}
	late := time.NewTimer(grace)
	defer late.Stop()
	for left := len(targets); left > 0; {
		select {
		case a := <-answers:
			looks[a.n] = &a.scrape
			left--
		case <-late.C:
			// Who has never been looked at yet would seem to be gone.
			if list := known(looks); len(list) == len(looks) {
				out(list)
			}
		}
	}
	if ctx.Err() != nil {
		return last // what was cut off says nothing
	}
	last = known(looks)
	out(last)
	return last
}

// before finds the last look at a target; one at an earlier life is none.
func before(last []serving.Scrape, target Target) *serving.Scrape {
	for _, scrape := range last {
		if r := scrape.Replica; scrape.Endpoint == target.URL && r.Name == target.Replica.Name && r.UID == target.Replica.UID && r.Life == target.Replica.Life {
			return &scrape
		}
	}
	return nil
}

func known(looks []*serving.Scrape) []serving.Scrape {
	list := make([]serving.Scrape, 0, len(looks))
	for _, look := range looks {
		if look != nil {
			list = append(list, *look)
		}
	}
	return list
}
