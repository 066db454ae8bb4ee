package serving

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func engine(t *testing.T, o Options) *Engine {
	t.Helper()
	e, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// metrics are those of the lines that begin so, without what is in braces.
func metrics(e *Engine, begins string) (lines []string) {
	w := httptest.NewRecorder()
	e.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	for line := range strings.Lines(w.Body.String()) {
		if strings.HasPrefix(line, begins) {
			name, rest, _ := strings.Cut(line, "{")
			_, value, _ := strings.Cut(rest, "} ")
			lines = append(lines, strings.TrimSpace(name+" "+value))
		}
	}
	return lines
}

// expect compares metrics of vLLM, by the ends of their names.
func expect(t *testing.T, e *Engine, when string, want ...string) {
	t.Helper()
	var got []string
	for _, name := range []string{"vllm:num_requests_running", "vllm:num_requests_waiting", "vllm:generation_tokens_total"} {
		for _, line := range metrics(e, name) {
			got = append(got, line[strings.LastIndex(line, "_")+1:])
		}
	}
	if strings.Join(got, ", ") != strings.Join(want, ", ") {
		t.Errorf("%s: %v, want %v", when, got, want)
	}
}

// ask sends a request of four tokens and ten to answer; the context ends it.
func ask(ctx context.Context, e *Engine, path, more string) (text string) {
	w := httptest.NewRecorder()
	body := strings.NewReader(`{"prompt":"one two three four","max_tokens":10` + more + `}`)
	defer func() {
		if v := recover(); v != nil {
			text = w.Body.String() + "[cut]"
		}
	}()
	e.ServeHTTP(w, httptest.NewRequest(http.MethodPost, path, body).WithContext(ctx))
	return w.Body.String()
}

func TestQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := engine(t, Options{Slots: 2, PromptRate: 4, TokenRate: 10})
		for range 3 {
			go ask(t.Context(), e, "/v1/completions", "")
		}
		synctest.Wait()
		expect(t, e, "at first", "running 2", "waiting 1", "total 0")
		time.Sleep(1550 * time.Millisecond)
		expect(t, e, "in the middle", "running 2", "waiting 1", "total 10")
		time.Sleep(time.Second)
		expect(t, e, "when two have ended", "running 1", "waiting 0", "total 20")
		time.Sleep(2 * time.Second)
		expect(t, e, "at the end", "running 0", "waiting 0", "total 30")
	})
}

func TestAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := engine(t, Options{})
		for _, test := range []struct{ path, more, want string }{
			{"/v1/completions", "", `"text":"tok tok`},
			{"/v1/chat/completions", "", `"message":{"content":"tok tok`},
			{"/v1/completions", `,"stream":true`, `"finish_reason":"length"`},
			{"/v1/chat/completions", `,"stream":true`, `"delta":{"content":"tok "}`},
		} {
			got := ask(t.Context(), e, test.path, test.more)
			if !strings.Contains(got, test.want) || strings.Contains(got, "[cut]") {
				t.Errorf("%s%s: %s", test.path, test.more, got)
			}
			if test.more != "" && (strings.Count(got, "data: {") != 11 || !strings.HasSuffix(got, endMarker)) {
				t.Errorf("%s: a stream of %s", test.path, got)
			}
		}
		if got := ask(t.Context(), e, "/v1/completions", `,"max_tokens":0`); !strings.Contains(got, "max_tokens") {
			t.Errorf("no tokens: %s", got)
		}
	})
}

func TestFaults(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := engine(t, Options{Ranks: 2, Slots: 1, TokenRate: 10})
		play := func(fault string) {
			t.Helper()
			if err := e.Fault(fault); err != nil {
				t.Fatal(err)
			}
		}
		ctx, leave := context.WithCancel(t.Context())
		play("dead on")
		answers := make(chan string, 2)
		for range 2 {
			go func() { answers <- ask(ctx, e, "/v1/completions", "") }()
		}
		time.Sleep(time.Minute)
		expect(t, e, "dead", "running 0", "running 0", "waiting 1", "waiting 1", "total 0", "total 0")
		play("dead off")
		play("stuck 1")
		time.Sleep(time.Minute)
		expect(t, e, "a rank stuck", "running 0", "running 0", "waiting 0", "waiting 1", "total 10", "total 0")
		if got := <-answers; strings.Contains(got, "[cut]") {
			t.Errorf("of the other rank: %s", got)
		}
		play("well")
		play("slow 8")
		time.Sleep(2 * time.Second)
		expect(t, e, "slow", "running 0", "running 1", "waiting 0", "waiting 0", "total 10", "total 2")
		play("sleep on")
		time.Sleep(time.Minute)
		expect(t, e, "asleep", "running 0", "running 1", "waiting 0", "waiting 0", "total 10", "total 2")
		if got := metrics(e, "vllm:engine_sleep_state"); got[0] != "vllm:engine_sleep_state 0" {
			t.Errorf("asleep: %v", got)
		}
		play("cut")
		if got := <-answers; !strings.Contains(got, "[cut]") {
			t.Errorf("cut: %s", got)
		}
		play("restart")
		expect(t, e, "restarted", "running 0", "running 0", "waiting 0", "waiting 0", "total 0", "total 0")
		play("hang-metrics on")
		hung, stop := context.WithTimeout(t.Context(), time.Hour)
		defer stop()
		w := httptest.NewRecorder()
		e.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil).WithContext(hung))
		if w.Body.Len() > 0 || hung.Err() == nil {
			t.Errorf("metrics that hang: %s", w.Body)
		}
		leave()
	})
}

func TestColdAndGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := engine(t, Options{Cold: 1, PromptRate: 1e9, TokenRate: 10})
		for _, want := range []time.Duration{10 * time.Second, time.Second} {
			began := time.Now()
			ask(t.Context(), e, "/v1/completions", "")
			if took := time.Since(began).Round(time.Second); took != want {
				t.Errorf("took %v, want %v", took, want)
			}
		}
		ctx, leave := context.WithTimeout(t.Context(), 500*time.Millisecond)
		defer leave()
		if got := ask(ctx, e, "/v1/completions", ""); !strings.Contains(got, "[cut]") {
			t.Errorf("its client has gone: %s", got)
		}
		expect(t, e, "its client has gone", "running 0", "waiting 0", "total 24")
	})
}

func TestFollow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := engine(t, Options{TokenRate: 10})
		var told []string
		began := time.Now()
		ctx, stop := context.WithTimeout(t.Context(), 10*time.Second)
		defer stop()
		go func() {
			time.Sleep(2100 * time.Millisecond)
			ask(t.Context(), e, "/v1/completions", "")
		}()
		e.Follow(ctx, 0, 500*time.Millisecond, func(busy bool) { told = append(told, fmt.Sprint(time.Since(began), busy)) })
		if got := strings.Join(told, ", "); got != "0s false, 2.5s true, 4s false" {
			t.Error(got)
		}
	})
}

// A stream that is cut ends without its marker, over a real connection.
func TestCutStream(t *testing.T) {
	e := engine(t, Options{TokenRate: 1000})
	server := httptest.NewServer(e)
	defer server.Close()
	body := strings.NewReader(`{"messages":[{"content":"x"}],"max_tokens":100000,"stream":true}`)
	response, err := http.Post(server.URL+"/v1/chat/completions", "application/json", body)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	lines := bufio.NewReader(response.Body)
	if line, err := lines.ReadString('\n'); err != nil || !strings.HasPrefix(line, "data: {") {
		t.Fatalf("%q, %v", line, err)
	}
	fault, err := http.Post(server.URL+"/sim/fault", "text/plain", strings.NewReader("cut"))
	if err != nil || fault.StatusCode != http.StatusOK {
		t.Fatal(fault, err)
	}
	rest, err := io.ReadAll(lines)
	if !errors.Is(err, io.ErrUnexpectedEOF) || strings.Contains(string(rest), "[DONE]") {
		t.Errorf("ends with %v", err)
	}
}

func TestRefused(t *testing.T) {
	for _, o := range []Options{{Kind: "own"}, {Ranks: -1}, {Kind: "tgi", Ranks: 2}, {TokenRate: -1}} {
		if _, err := New(o); err == nil {
			t.Errorf("%+v is accepted", o)
		}
	}
	e := engine(t, Options{Ranks: 2})
	for _, fault := range []string{"", "slow", "slow 0", "dead", "dead perhaps", "stuck 2", "stuck -1", "sleep", "tired"} {
		if err := e.Fault(fault); err == nil {
			t.Errorf("fault %q is accepted", fault)
		}
	}
}
