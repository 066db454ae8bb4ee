package canary

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gpuhealthd/gpuhealthd/serving"
)

const token = `data: {"choices":[{"delta":{"content":"word"}}]}` + "\n\n"

func send(w http.ResponseWriter, text string) { fmt.Fprint(w, text) }

// TestOutcomes has every way in which a request can end.
func TestOutcomes(t *testing.T) {
	t.Parallel()
	limits := Limits{Frozen: 300 * time.Millisecond, FirstToken: 150 * time.Millisecond, Rate: 10}
	for name, c := range map[string]struct {
		answer func(http.ResponseWriter, *http.Request)
		want   serving.Outcome
		tokens int
		why    string
	}{
		"whole": {func(w http.ResponseWriter, _ *http.Request) {
			send(w, ": hello\n\nevent: message\n"+token+token+`data: {"choices":[{"delta":{}}],"usage":null}`+"\n\ndata: [DONE]\n\n")
		}, serving.Passed, 2, ""},
		"reasoning counts": {func(w http.ResponseWriter, _ *http.Request) {
			send(w, `data: {"choices":[{"delta":{"reasoning_content":"hm"}}]}`+"\n\ndata: [DONE]\n\n")
		}, serving.Passed, 1, ""},
		"late": {func(w http.ResponseWriter, _ *http.Request) {
			time.Sleep(200 * time.Millisecond)
			send(w, token+"data: [DONE]\n\n")
		}, serving.Slow, 1, "the first token took"},
		"trickling": {func(w http.ResponseWriter, _ *http.Request) {
			send(w, token)
			time.Sleep(200 * time.Millisecond)
			send(w, token+"data: [DONE]\n\n")
		}, serving.Slow, 2, "tokens a second"},
		"closed without its end": {func(w http.ResponseWriter, _ *http.Request) {
			send(w, token+token)
		}, serving.Cut, 2, "without its end marker"},
		"died in mid-answer": {func(w http.ResponseWriter, _ *http.Request) {
			send(w, token)
			panic(http.ErrAbortHandler)
		}, serving.Cut, 1, "without its end marker"},
		"frozen in mid-answer": {func(w http.ResponseWriter, r *http.Request) {
			send(w, token)
			<-r.Context().Done()
		}, serving.Frozen, 1, "no token for 300ms"},
		"frozen before": {func(_ http.ResponseWriter, r *http.Request) {
			<-r.Context().Done()
		}, serving.Frozen, 0, "no token for 300ms"},
		"alive and without tokens": {func(w http.ResponseWriter, r *http.Request) {
			for r.Context().Err() == nil {
				send(w, ": ping\n\n")
				time.Sleep(20 * time.Millisecond)
			}
		}, serving.Frozen, 0, "no token for 300ms"},
		"an error": {func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, "engine is dead", http.StatusInternalServerError)
		}, serving.Rejected, 0, "engine is dead"},
		"an error in the stream": {func(w http.ResponseWriter, _ *http.Request) {
			send(w, token+`data: {"error":{"message":"EngineDeadError"}}`+"\n\n")
		}, serving.Rejected, 1, "EngineDeadError"},
		"given up": {func(w http.ResponseWriter, _ *http.Request) {
			send(w, token+`data: {"choices":[{"delta":{"content":""},"finish_reason":"abort"}]}`+"\n\ndata: [DONE]\n\n")
		}, serving.Rejected, 1, `finish_reason "abort"`},
		"dripping": {func(w http.ResponseWriter, r *http.Request) {
			for r.Context().Err() == nil {
				send(w, token)
				time.Sleep(240 * time.Millisecond)
			}
		}, serving.Slow, 15, "not over after 3.5s"},
		"without end": {func(w http.ResponseWriter, r *http.Request) {
			for r.Context().Err() == nil {
				send(w, token)
				time.Sleep(time.Millisecond)
			}
		}, serving.Rejected, 129, "32 were asked for"},
		"one line without end": {func(w http.ResponseWriter, r *http.Request) {
			send(w, "data: ")
			for r.Context().Err() == nil {
				send(w, strings.Repeat("x", 1<<10))
			}
		}, serving.Rejected, 0, "more than 256 KiB"},
		"a page": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			send(w, "<html>")
		}, serving.Rejected, 0, `Content-Type "text/html"`},
		"elsewhere": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://169.254.169.254/", http.StatusTemporaryRedirect)
		}, serving.Rejected, 0, "307"},
		"nothing in it": {func(w http.ResponseWriter, _ *http.Request) {
			send(w, "data: [DONE]\n\n")
		}, serving.Rejected, 0, "without a token"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				client := New(Default(), 0).client
				client.Transport = engine(c.answer)
				p := probe(t.Context(), client, Target{URL: "http://replica"}, limits, 7)
				time.Sleep(time.Second) // the engine sees its client go
				if p.Outcome != c.want || p.Tokens != c.tokens || !strings.Contains(p.Why, c.why) || (p.Why == "") != (c.want == serving.Passed) {
					t.Errorf("got %s, %d tokens, %q", p.Outcome, p.Tokens, p.Why)
				}
			})
		})
	}
}

// TestURLs: a base URL as OpenAI's clients have it is asked at the same place, and no
// password is told.
func TestURLs(t *testing.T) {
	t.Parallel()
	for _, base := range []string{"http://user:secret@replica", "http://user:secret@replica/", "http://user:secret@replica/v1", "http://user:secret@replica/v1/"} {
		client := New(Default(), 0).client
		client.Transport = roundTrip(func(r *http.Request) (*http.Response, error) {
			if r.URL.Path != "/v1/models" {
				t.Errorf("%s: asked at %s", base, r.URL.Path)
			}
			return nil, fmt.Errorf("nobody there")
		})
		p := probe(t.Context(), client, Target{URL: base}, DefaultLimits(), 1)
		if strings.Contains(p.Endpoint+p.Why, "secret") || !strings.Contains(p.Endpoint, "replica") {
			t.Errorf("%s: told as %s, %s", base, p.Endpoint, p.Why)
		}
	}
}

func TestNobodyThere(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	listener.Close()
	p := probe(t.Context(), New(Default(), 0).client, Target{URL: "http://" + listener.Addr().String()}, DefaultLimits(), 1)
	if p.Outcome != serving.Unreachable || !strings.Contains(p.Why, "refused") {
		t.Errorf("got %s, %q", p.Outcome, p.Why)
	}
}

// TestTurns holds the requests to their period and the node to its budget.
func TestTurns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := New(Config{Period: 12 * time.Second, PerMinute: 30}, 0)
		var mu sync.Mutex
		asked := map[string]int{}
		p.client.Transport = roundTrip(func(r *http.Request) (*http.Response, error) {
			mu.Lock()
			defer mu.Unlock()
			asked[r.URL.Host]++
			return &http.Response{StatusCode: http.StatusTeapot, Body: http.NoBody}, nil
		})
		ctx, stop := context.WithTimeout(t.Context(), 10*time.Minute)
		defer stop()
		pause := false
		targets := func() (ts []Target) {
			mu.Lock()
			defer mu.Unlock()
			if pause {
				return nil
			}
			for n := range 2 {
				ts = append(ts, Target{Model: "m", URL: fmt.Sprintf("http://r%d", n), Replica: serving.Replica{Name: fmt.Sprintf("r%d", n)}})
			}
			return ts
		}
		time.AfterFunc(5*time.Minute, func() { mu.Lock(); pause = true; mu.Unlock() })
		p.Run(ctx, targets, func(serving.Probe) {})
		for host, n := range asked {
			if n < 24 || n > 26 { // five minutes, one every 12 s
				t.Errorf("%s was asked %d times", host, n)
			}
		}
		if len(asked) != 2 {
			t.Errorf("asked: %v", asked)
		}
	})
}

// TestNobodyThereYet: one that takes no request is asked anew before its period is
// over, for it costs it nothing.
func TestNobodyThereYet(t *testing.T) {
	t.Parallel()
	p, now := New(Default(), 0), time.Now()
	target := []Target{{URL: "http://r0"}}
	asked := func(second int) bool {
		_, due := p.next(now.Add(time.Duration(second)*time.Second), target)
		return due
	}
	if !asked(0) {
		t.Fatal("not asked")
	}
	p.over(target[0], serving.Unreachable)
	if asked(2) || !asked(3) {
		t.Error("want it asked after 3 s")
	}
	p.over(target[0], serving.Frozen)
	if asked(6) || !asked(15) {
		t.Error("want it asked after 12 s")
	}
	p.over(target[0], serving.Passed)
	if target[0].Replica.Life = "2"; !asked(16) {
		t.Error("want its next life asked at once")
	}
}

// TestBudget shares what there is among many.
func TestBudget(t *testing.T) {
	t.Parallel()
	p := New(Config{Period: 12 * time.Second, PerMinute: 60}, 0)
	var targets []Target
	for n := range 40 {
		targets = append(targets, Target{URL: fmt.Sprintf("http://r%d", n)})
	}
	asked := map[string]int{}
	start := time.Now()
	for second := range 80 {
		if target, due := p.next(start.Add(time.Duration(second)*time.Second), targets); due {
			asked[target.URL]++
			p.over(target, serving.Passed)
		}
	}
	for url, n := range asked {
		if n != 2 {
			t.Errorf("%s was asked %d times in 80 s, want 2", url, n)
		}
	}
}

func TestPrompts(t *testing.T) {
	t.Parallel()
	for n := range uint64(8) {
		words := len(strings.Fields(prompt(n)))
		if words < 385 || words > 1540 { // 500 to 2,000 tokens, at 1.3 a word
			t.Errorf("prompt %d has %d words", n, words)
		}
		if again := prompt(n); again != prompt(n) || strings.HasPrefix(prompt(n+1), prompt(n)[:12]) {
			t.Errorf("prompt %d is not its own", n)
		}
	}
}

// FuzzStream reads whatever an engine may send.
func FuzzStream(f *testing.F) {
	for _, s := range []string{token, "data: [DONE]\n", ": x\n\n", `data: {"error":{"message":"x"}}`, "data: {}\n", "event: e\ndata: 1\n", "data:"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s := newStream(strings.NewReader(text))
		for n := 0; s.next() == nil; n++ {
			if n > strings.Count(text, "data:") {
				t.Fatal("more tokens than events")
			}
		}
	})
}

// BenchmarkProbe is one whole request, at an engine that takes no time itself.
func BenchmarkProbe(b *testing.B) {
	client := New(Default(), 0).client
	client.Transport = engine(func(w http.ResponseWriter, _ *http.Request) {
		for range answerTokens {
			send(w, token)
		}
		send(w, "data: [DONE]\n\n")
	})
	b.ReportAllocs()
	for n := uint64(0); b.Loop(); n++ {
		if p := probe(b.Context(), client, Target{URL: "http://replica"}, DefaultLimits(), n); p.Outcome != serving.Passed {
			b.Fatal(p)
		}
	}
}
