package serving

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gpuhealthd/gpuhealthd/serving"
)

// node is a node whose endpoints answer as they are told to.
type node struct {
	targets []Target
	answers map[string]func(context.Context) (string, error) // by host
	began   time.Time
	lists   []string
}

// nowhere is a host to which there is no connection.
const nowhere = "nowhere"

func (n *node) RoundTrip(request *http.Request) (*http.Response, error) {
	if request.URL.Host != nowhere {
		httptrace.ContextClientTrace(request.Context()).ConnectDone("tcp", request.URL.Host, nil)
	}
	text, err := n.answers[request.URL.Host](request.Context())
	if err != nil {
		return nil, err
	}
	return &http.Response{StatusCode: http.StatusOK, Status: "200 OK", Body: io.NopCloser(strings.NewReader(text)), Request: request}, nil
}

// add adds a replica of one endpoint.
func (n *node) add(name string, answer func(context.Context) (string, error)) {
	n.targets = append(n.targets, Target{Replica: serving.Replica{Name: name, Life: "1"}, URL: "http://" + name + "/metrics"})
	n.answers[name] = answer
}

// hear keeps a list as "when: name running@when it was asked (how it ended), …".
func (n *node) hear(list []serving.Scrape) {
	text := fmt.Sprint(time.Since(n.began), ":")
	for _, s := range list {
		text += fmt.Sprintf(" %s", s.Replica.Name)
		if s.Answer == serving.Answered {
			text += fmt.Sprint("=", *s.Engines[0].Running)
		}
		text += fmt.Sprintf("@%v(%d)", s.At.Sub(n.began), s.Answer)
	}
	n.lists = append(n.lists, text)
}

func running(n int) string { return fmt.Sprintf("vllm:num_requests_running %d\n", n) }

// counting answers at once, with how often it was asked.
func counting() func(context.Context) (string, error) {
	asked := 0
	return func(context.Context) (string, error) {
		asked++
		return running(asked), nil
	}
}

// after answers after a time.
func after(took time.Duration) func(context.Context) (string, error) {
	return func(ctx context.Context) (string, error) {
		select {
		case <-ctx.Done():
			return "", ctx.Err()
		case <-time.After(took):
			return running(1), nil
		}
	}
}

func failing(err error) func(context.Context) (string, error) {
	return func(context.Context) (string, error) { return "", err }
}

// run scrapes for so long and gives what was heard.
func (n *node) run(t *testing.T, long time.Duration, targets func() []Target) []string {
	t.Helper()
	s, err := New(Options{Targets: targets, Period: 5 * time.Second, Deadline: 5 * time.Second, Dialects: builtin(t), Proc: "/proc", Transport: n})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), long)
	defer cancel()
	n.began = time.Now()
	s.Run(ctx, n.hear)
	return n.lists
}

func newNode() *node { return &node{answers: map[string]func(context.Context) (string, error){}} }

func TestRun(t *testing.T) {
	const frozen = time.Hour
	tests := []struct {
		name string
		fill func(*node)
		want []string
	}{
		{"nobody", func(*node) {}, []string{"0s:", "5s:", "10s:"}},
		{"all answer at once", func(n *node) { n.add("a", counting()); n.add("b", counting()) },
			[]string{"0s: a=1@0s(0) b=1@0s(0)", "5s: a=2@5s(0) b=2@5s(0)", "10s: a=3@10s(0) b=3@10s(0)"}},
		{"a frozen one does not delay the others, once it is known", func(n *node) { n.add("a", after(frozen)); n.add("b", counting()) },
			[]string{"5s: a@0s(2) b=1@0s(0)", "6s: a@0s(2) b=2@5s(0)", "10s: a@5s(2) b=2@5s(0)", "11s: a@5s(2) b=3@10s(0)"}},
		{"a slow one is told when it has answered", func(n *node) { n.add("a", after(3*time.Second)); n.add("b", counting()) },
			[]string{"3s: a=1@0s(0) b=1@0s(0)", "6s: a=1@0s(0) b=2@5s(0)", "8s: a=1@5s(0) b=2@5s(0)", "11s: a=1@5s(0) b=3@10s(0)"}},
		{"one that cannot be reached", func(n *node) { n.add(nowhere, after(frozen)) }, []string{"5s: nowhere@0s(3)", "6s: nowhere@0s(3)", "10s: nowhere@5s(3)", "11s: nowhere@5s(3)"}},
		{"refused and failed", func(n *node) { n.add("a", failing(syscall.ECONNREFUSED)); n.add("b", failing(errors.New("odd"))) },
			[]string{"0s: a@0s(1) b@0s(4)", "5s: a@5s(1) b@5s(4)", "10s: a@10s(1) b@10s(4)"}},
		{"no engine", func(n *node) {
			n.add("a", func(context.Context) (string, error) { return "node_load1 1\n", nil })
		}, []string{"0s: a@0s(5)", "5s: a@5s(5)", "10s: a@10s(5)"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := newNode()
				test.fill(n)
				got := n.run(t, 12*time.Second, func() []Target { return n.targets })
				if diff := cmp.Diff(test.want, got); diff != "" {
					t.Error(diff)
				}
			})
		})
	}
}

// What is said of a pod that went, or of its containers before they were started
// anew, is not said of the next.
func TestRunForgets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n, asked := newNode(), 0
		n.add("a", counting())
		n.add("b", after(2*time.Second))
		got := n.run(t, 12*time.Second, func() []Target {
			asked++
			switch asked {
			case 2:
				n.targets[1].Replica.Life = "2"
			case 3:
				return n.targets[:1]
			}
			return n.targets
		})
		want := []string{"2s: a=1@0s(0) b=1@0s(0)", "7s: a=2@5s(0) b=1@5s(0)", "10s: a=3@10s(0)"}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	})
}

func TestSoManyAreAskedAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNode()
		var now, most atomic.Int32
		for i := range together + 10 {
			n.add(fmt.Sprint(i), func(context.Context) (string, error) {
				now.Add(1)
				defer now.Add(-1)
				time.Sleep(time.Millisecond)
				most.Store(max(most.Load(), now.Load()))
				return running(1), nil
			})
		}
		n.run(t, time.Second, func() []Target { return n.targets })
		if most.Load() != together {
			t.Errorf("%d at once, want %d", most.Load(), together)
		}
	})
}

func TestNewRefuses(t *testing.T) {
	for _, options := range []Options{{Period: 1}, {Deadline: 1}, {Period: -1, Deadline: 1}} {
		if _, err := New(options); err == nil {
			t.Errorf("%+v is accepted", options)
		}
	}
}
