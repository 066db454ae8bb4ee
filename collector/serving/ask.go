package serving

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptrace"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/gpuhealthd/gpuhealthd/serving"
)

const (
	// redirects is how often an endpoint may send us on: an engine that has its metrics
	// at /metrics/ does so once.
	redirects = 3
	// textFormat asks for the one format that every engine has.
	textFormat = "text/plain;version=0.0.4"
	// whyLimit bounds what is told of an answer's fault, in bytes.
	whyLimit = 300
)

// newClient makes a client that goes where it is told and nowhere else.
func newClient(transport http.RoundTripper) *http.Client {
	if transport == nil {
		transport = &http.Transport{
			// No Proxy: an engine of this node is never behind one.
			DialContext:        (&net.Dialer{}).DialContext,
			TLSClientConfig:    &tls.Config{InsecureSkipVerify: true},
			DisableKeepAlives:  true, // whether one can still be reached shows in a connection of its own
			DisableCompression: true, // on the same machine it costs both sides, and is hard to bound
		}
	}
	return &http.Client{Transport: transport, CheckRedirect: sameHost}
}

func sameHost(next *http.Request, before []*http.Request) error {
	if next.URL.Host != before[0].URL.Host || next.URL.Scheme != before[0].URL.Scheme {
		return fmt.Errorf("it sends us on to another host, %.80q", next.URL.Host)
	}
	if len(before) > redirects {
		return fmt.Errorf("it sends us on more than %d times", redirects)
	}
	return nil
}

// ask scrapes one endpoint.
func (s *Scraper) ask(ctx context.Context, target Target) serving.Scrape {
	ctx, cancel := context.WithTimeout(ctx, s.options.Deadline)
	defer cancel()
	scrape := serving.Scrape{Replica: target.Replica, Endpoint: target.URL, At: time.Now()}
	var reached atomic.Bool // a frozen engine is, too: the kernel takes the connection for it
	trace := httptrace.ClientTrace{ConnectDone: func(_, _ string, err error) { reached.Store(reached.Load() || err == nil) }}
	answer, err := s.get(httptrace.WithClientTrace(ctx, &trace), target)
	scrape.Took = time.Since(scrape.At)
	scrape.Dialect, scrape.Started, scrape.Engines = answer.dialect, answer.started, answer.engines
	if scrape.Answer, scrape.Why = judge(answer, err); scrape.Answer == serving.Silent && !reached.Load() {
		scrape.Answer = serving.Unreached
	}
	scrape.Alive = target.alive(s.options.Proc)
	return scrape
}

func (s *Scraper) get(ctx context.Context, target Target) (said, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, target.URL, nil)
	if err != nil {
		return said{}, err
	}
	request.Header.Set("Accept", textFormat)
	response, err := s.client.Do(request)
	if err != nil {
		return said{}, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return said{}, fmt.Errorf("it answers %s", response.Status)
	}
	if coded := response.Header.Get("Content-Encoding"); coded != "" && coded != "identity" {
		return said{}, fmt.Errorf("it answers in %.40q, which it was not asked for", coded)
	}
	answer, err := s.options.Dialects.read(response.Body, target.Dialect)
	if err != nil {
		return said{}, fmt.Errorf("its answer: %w", err)
	}
	return answer, nil
}

// judge says how an endpoint took to being asked, and in words where that was not
// well.
func judge(answer said, err error) (serving.Answer, string) {
	var slow interface{ Timeout() bool }
	why := ""
	if err != nil {
		why = fmt.Sprintf("%.*s", whyLimit, err)
	}
	switch {
	case err == nil && answer.dialect == "":
		return serving.Foreign, "it has metrics, and of no engine that is known"
	case err == nil:
		return serving.Answered, ""
	case errors.Is(err, context.DeadlineExceeded) || errors.As(err, &slow) && slow.Timeout():
		return serving.Silent, why
	case errors.Is(err, syscall.ECONNREFUSED):
		return serving.Refused, why
	}
	return serving.Failed, why
}
