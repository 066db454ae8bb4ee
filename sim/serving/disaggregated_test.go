package serving

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestStaleHandles: a decode engine outlives the prefill engine that it has a handle of.
// One that fails says so; one that recomputes only computes more.
func TestStaleHandles(t *testing.T) {
	engine := func(o Options) (*Engine, string) {
		t.Helper()
		o.PromptRate, o.TokenRate = 1e6, 1e6
		e, err := New(o)
		if err != nil {
			t.Fatal(err)
		}
		server := httptest.NewServer(e)
		t.Cleanup(server.Close)
		return e, server.URL
	}
	prefill, from := engine(Options{})
	failing, fails := engine(Options{Prefill: from})
	slow, recomputes := engine(Options{Prefill: from, OnFailure: "recompute"})
	asks := func(url string, want int) {
		t.Helper()
		response, err := http.Post(url+"/v1/completions", "application/json", strings.NewReader(`{"prompt": "one two three four five", "max_tokens": 2}`))
		if err != nil {
			t.Fatal(err)
		}
		response.Body.Close()
		if response.StatusCode != want {
			t.Errorf("got %s, want %d", response.Status, want)
		}
	}
	tokens := func(url string) int {
		before := slow.tokens(0)
		asks(url, http.StatusOK)
		return slow.tokens(0) - before
	}
	asks(fails, http.StatusOK)
	if n := tokens(recomputes); n != 3 {
		t.Errorf("%d tokens where the prompt was loaded, want 3", n)
	}
	if err := prefill.Fault("restart"); err != nil {
		t.Fatal(err)
	}
	asks(fails, http.StatusInternalServerError)
	asks(fails, http.StatusInternalServerError)
	if n := tokens(recomputes); n != 7 {
		t.Errorf("%d tokens where the prompt is recomputed, want 7", n)
	}
	if err := failing.Fault("restart"); err != nil {
		t.Fatal(err)
	}
	asks(fails, http.StatusOK)
	if _, err := New(Options{OnFailure: "retry"}); err == nil {
		t.Error("retry is taken")
	}
}
