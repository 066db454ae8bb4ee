package fleet

import (
	"io"
	"log"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/client-go/rest"
)

// tokened is a configuration with a token of its own.
type tokened = *rest.Config

// weather is a proxy before the API server: by storm it spoils requests.
type weather struct {
	url         string
	rough       atomic.Bool
	all, spoilt atomic.Int64

	mu  sync.Mutex
	rng *rand.Rand
	cut map[string]bool // by agent
}

// agentHeader tells the proxy whose request it is.
const agentHeader = "X-Agent"

func newWeather(t *testing.T, config *rest.Config) *weather {
	t.Helper()
	target, err := url.Parse(config.Host)
	if err != nil {
		t.Fatal(err)
	}
	transport, err := rest.TransportFor(&rest.Config{Host: config.Host, TLSClientConfig: config.TLSClientConfig})
	if err != nil {
		t.Fatal(err)
	}
	w := &weather{rng: rand.New(rand.NewPCG(8, 8)), cut: map[string]bool{}}
	proxy := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) }, Transport: transport,
		ErrorLog: log.New(io.Discard, "", 0)} // callers that have enough
	server := httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) { w.serve(proxy, out, r) }))
	t.Cleanup(server.Close)
	w.url = server.URL
	return w
}

// behind gives a configuration that goes through the proxy.
func (w *weather) behind(config *rest.Config, agent string) *rest.Config {
	c := &rest.Config{Host: w.url, BearerToken: config.BearerToken}
	c.Wrap(func(next http.RoundTripper) http.RoundTripper { return named{next, agent} })
	return c
}

type named struct {
	next  http.RoundTripper
	agent string
}

// RoundTrip names the agent.
func (n named) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set(agentHeader, n.agent)
	return n.next.RoundTrip(r)
}

// serve passes a request on, or spoils it.
func (w *weather) serve(proxy http.Handler, out http.ResponseWriter, r *http.Request) {
	w.all.Add(1)
	lot, cut := w.draw(r.Header.Get(agentHeader))
	if cut || w.rough.Load() && lot < 5 {
		w.spoilt.Add(1)
	}
	switch {
	case cut || w.rough.Load() && lot == 0: // nobody answers, until the caller has enough
		select {
		case <-r.Context().Done():
		case <-time.After(3 * time.Second): // a body that is not read hides that the caller has gone
		}
		panic(http.ErrAbortHandler)
	case !w.rough.Load():
	case lot == 1:
		out.Header().Set("Retry-After", "1")
		out.WriteHeader(http.StatusTooManyRequests)
		return
	case lot == 2:
		out.WriteHeader(http.StatusInternalServerError)
		return
	case lot == 3 && r.Method != http.MethodGet:
		out.WriteHeader(http.StatusConflict)
		return
	case lot == 4: // it is done, and nobody hears of it
		proxy.ServeHTTP(httptest.NewRecorder(), r)
		panic(http.ErrAbortHandler)
	}
	proxy.ServeHTTP(out, r)
}

// draw gives one of 25 lots, and says whether the agent is cut off.
func (w *weather) draw(agent string) (lot int, cut bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.rng.IntN(25), w.cut[agent]
}

// part cuts every fifth agent off, or lets it come back.
func (w *weather) part(herd []*beast, cut bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for n, b := range herd {
		w.cut[b.name] = cut && n%5 == 0
	}
}
