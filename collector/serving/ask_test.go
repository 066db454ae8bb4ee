package serving

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gpuhealthd/gpuhealthd/serving"
)

// serve answers over the network.
func serve(t *testing.T, handle http.HandlerFunc) string {
	t.Helper()
	server := httptest.NewServer(handle)
	t.Cleanup(server.Close)
	return server.URL + "/metrics"
}

func say(text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, text) }
}

func closedPort(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return "http://" + listener.Addr().String() + "/metrics"
}

func TestAsk(t *testing.T) {
	t.Setenv("HTTP_PROXY", closedPort(t)) // is not used
	other := serve(t, say(running(1)))
	secure := httptest.NewTLSServer(say(running(1)))
	t.Cleanup(secure.Close)
	tests := []struct {
		name, url string
		answer    serving.Answer
		why       string
	}{
		{"engine", other, serving.Answered, ""},
		{"of TLS, with a certificate of its own", secure.URL, serving.Answered, ""},
		{"at another path", serve(t, func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/metrics" {
				http.Redirect(w, r, "/metrics/", http.StatusTemporaryRedirect)
				return
			}
			fmt.Fprint(w, running(1))
		}), serving.Answered, ""},
		{"another host", serve(t, func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, other, http.StatusFound)
		}), serving.Failed, "another host"},
		{"round and round", serve(t, func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, r.URL.Path, http.StatusFound)
		}), serving.Failed, "more than 3 times"},
		{"no engine", serve(t, say("node_load1 1\n")), serving.Foreign, "no engine that is known"},
		{"loading", serve(t, func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, "loading", http.StatusServiceUnavailable)
		}), serving.Failed, "503 Service Unavailable"},
		{"no metrics", serve(t, say("vllm:num_requests_running many\n")), serving.Failed, "line 1"},
		{"dies in the middle", serve(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "1000")
			fmt.Fprint(w, running(1))
		}), serving.Failed, "EOF"},
		{"never ends", serve(t, func(w http.ResponseWriter, r *http.Request) {
			fmt.Fprint(w, running(1))
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		}), serving.Silent, "deadline exceeded"},
		{"never begins", serve(t, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }), serving.Silent, "deadline exceeded"},
		{"nobody there", closedPort(t), serving.Refused, "refused"},
		{"no URL", "http://[::1", serving.Failed, "missing ']'"},
	}
	s, err := New(Options{Period: time.Second, Deadline: 300 * time.Millisecond, Dialects: builtin(t), Proc: "/proc"})
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got := s.ask(t.Context(), Target{URL: test.url})
			if got.Answer != test.answer || !strings.Contains(got.Why, test.why) || (got.Why == "") != (test.why == "") {
				t.Errorf("got %d, %q; want %d, %q", got.Answer, got.Why, test.answer, test.why)
			}
			if (got.Answer == serving.Answered) != (len(got.Engines) == 1) || got.Alive != nil || got.Endpoint != test.url {
				t.Errorf("got %+v", got)
			}
		})
	}
}

func TestAlive(t *testing.T) {
	sleeper := exec.Command("sleep", "1000")
	if err := sleeper.Start(); err != nil {
		t.Fatal(err)
	}
	pid := sleeper.Process.Pid
	t.Cleanup(func() { _ = sleeper.Process.Kill() })
	is := func(want bool, when string) {
		t.Helper()
		if got := (Target{PID: pid, Alive: new(!want)}).alive("/proc"); got == nil || *got != want {
			t.Errorf("%s: alive %v, want %t", when, got, want)
		}
	}
	is(true, "running")
	if err := sleeper.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	is(true, "stopped")
	if err := sleeper.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	awaitZombie(t, pid)
	is(false, "a zombie")
	_ = sleeper.Wait()
	is(false, "gone")
	if got := (Target{}).alive("/proc"); got != nil {
		t.Errorf("alive %t, and nothing is known", *got)
	}
	if got := (Target{Alive: new(true)}).alive("/proc"); got == nil || !*got {
		t.Errorf("alive %v by what is known without a process", got)
	}
}

// awaitZombie returns when a killed process has ended that nobody has waited for.
func awaitZombie(t *testing.T, pid int) {
	t.Helper()
	for t.Context().Err() == nil {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil || strings.Contains(string(stat), ") Z ") {
			return
		}
	}
}
