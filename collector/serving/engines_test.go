package serving

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	sim "github.com/gpuhealthd/gpuhealthd/sim/serving"
)

// request asks an engine for more tokens than a test waits for.
func request(ctx context.Context, e *sim.Engine) {
	defer func() { _ = recover() }() // how a server is told that the connection was cut
	body := strings.NewReader(`{"prompt":"x","max_tokens":1000}`)
	e.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodPost, "/v1/completions", body).WithContext(ctx))
}

func scrape(t *testing.T, e *sim.Engine) said {
	t.Helper()
	w := httptest.NewRecorder()
	e.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	s, err := builtin(t).read(w.Body, "")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Each simulated engine is read as what it is: while it computes, progress is seen
// where its kind shows any.
func TestEngines(t *testing.T) {
	tests := map[string]struct {
		dialect  string
		progress bool
	}{
		"vllm-v0": {"vllm", true}, "vllm": {"vllm", true}, "sglang": {"sglang", true}, "tgi": {"tgi", true},
		"triton-trtllm": {"triton-trtllm", false}, "trtllm": {"trtllm", false}, "dynamo": {"dynamo", false}, "llamacpp": {"llamacpp", true},
	}
	for _, kind := range sim.Kinds() {
		t.Run(kind, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				e, err := sim.New(sim.Options{Kind: kind, Slots: 1, TokenRate: 10})
				if err != nil {
					t.Fatal(err)
				}
				ctx, stop := context.WithCancel(t.Context())
				for range 2 {
					go request(ctx, e)
				}
				time.Sleep(5 * time.Second)
				before := scrape(t, e)
				time.Sleep(5 * time.Second)
				after := scrape(t, e)
				want, one := tests[kind], after.engines[0]
				running := 1.0
				if kind == "dynamo" {
					running = 2 // what waits is in flight as well
				}
				if after.dialect != want.dialect || one.Running == nil || *one.Running != running || one.Finished != nil && *one.Finished != 0 {
					t.Errorf("%+v: %s", after, told(after))
				}
				if kind != "dynamo" && (one.Waiting == nil || *one.Waiting != 1) {
					t.Errorf("waiting: %s", told(after))
				}
				moved := one.Progress != nil && *one.Progress > *before.engines[0].Progress
				if moved != want.progress || (one.Progress == nil) == want.progress {
					t.Errorf("progress %t, want %t: %s", moved, want.progress, told(after))
				}
				stop()
			})
		})
	}
}

// SGLang tells what runs with its steps of decoding, and else every 30 s: for so long a
// request that is over seems to run.
func TestSGLangLags(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, err := sim.New(sim.Options{Kind: "sglang", TokenRate: 10})
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		go request(ctx, e)
		time.Sleep(time.Second)
		scrape(t, e)
		stop()
		for _, c := range []struct {
			wait    time.Duration
			running float64
		}{{time.Second, 1}, {28 * time.Second, 1}, {2 * time.Second, 0}} {
			time.Sleep(c.wait)
			if one := scrape(t, e).engines[0]; one.Running == nil || *one.Running != c.running || one.Lag != 30*time.Second {
				t.Errorf("after %v more: %+v, want %v running", c.wait, one, c.running)
			}
		}
	})
}
