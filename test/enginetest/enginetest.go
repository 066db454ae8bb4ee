// Package enginetest runs the simulated serving engine (sim/engine) as a process of its
// own, on the GPUs of a simulated node, for tests and benchmarks of who watches it. The
// process ends with its test.
package enginetest

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/gpuhealthd/gpuhealthd/sim/node"
	"github.com/gpuhealthd/gpuhealthd/test/daemontest"
	"github.com/gpuhealthd/gpuhealthd/test/process"
)

// Port is the one that every engine listens on, at an address of its own.
const Port = 8000

// Options say which engine.
type Options struct {
	// Library is the folder that the simulated node was built into.
	Library string
	Node    *node.Node
	// Address is one of this machine; empty is any that nobody else has.
	Address string
	// GPUs are those that it has, by index, at least one.
	GPUs []int
	// Flags are further ones of the program, such as -kind.
	Flags []string
}

// Engine is a running one. Its methods may be called from any goroutine, but that only
// one of them may end it.
type Engine struct {
	*process.Process
	// Address is where it listens, URL the same with its port.
	Address, URL string

	t       testing.TB
	options Options
}

// Start starts one, which has a GPU open and need not answer yet.
func Start(t testing.TB, o Options) *Engine {
	t.Helper()
	e := &Engine{Address: o.Address, t: t, options: o}
	if e.Address == "" {
		e.Address = anyLoopback()
	}
	e.URL = fmt.Sprintf("http://%s:%d", e.Address, Port)
	open, err := os.OpenFile(o.Node.Device(strconv.Itoa(o.GPUs[0])), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer open.Close()
	argv := append([]string{"-listen", fmt.Sprintf("%s:%d", e.Address, Port), "-sim", o.Node.Dir(), "-gpus", strings.Join(e.gpus(), ",")}, o.Flags...)
	cmd := exec.Command(filepath.Join(o.Library, "engine"), argv...)
	cmd.Stdin = open
	if e.Process, err = process.Start(filepath.Join(t.TempDir(), "log"), cmd); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Kill)
	return e
}

// anyLoopback is an address of this machine that nobody else has: a pod has one too.
func anyLoopback() string {
	n := rand.Uint32()
	return fmt.Sprintf("127.%d.%d.%d", 1+n%254, n>>8%256, 1+n>>16%254)
}

func (e *Engine) gpus() (names []string) {
	for _, gpu := range e.options.GPUs {
		names = append(names, strconv.Itoa(gpu))
	}
	return names
}

// Metrics is the URL of its metrics.
func (e *Engine) Metrics() string { return e.URL + "/metrics" }

// AwaitUp returns when it answers.
func (e *Engine) AwaitUp() {
	e.t.Helper()
	daemontest.Await(e.t, "the engine at "+e.URL+" answers", func() bool {
		answer, err := http.Get(e.URL + "/health")
		if err != nil {
			return false
		}
		return answer.Body.Close() == nil
	})
}

// Fault plays a fault of package sim/serving, such as "dead on".
func (e *Engine) Fault(text string) error { return e.post("/sim/fault", text) }

// Restart begins its process anew, loading included.
func (e *Engine) Restart() {
	_ = e.post("/sim/restart", "") // the connection ends with the process
}

func (e *Engine) post(path, text string) error {
	answer, err := http.Post(e.URL+path, "text/plain", strings.NewReader(text))
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		why, _ := io.ReadAll(answer.Body) // the status says enough
		return fmt.Errorf("%s %q: %s %s", path, text, answer.Status, why)
	}
	return nil
}

// Freeze stops the process as it is. Its GPUs have nothing to do then.
func (e *Engine) Freeze() error {
	if err := e.Pause(); err != nil {
		return err
	}
	return e.Show(node.Idle)
}

// Thaw lets it go on with what it had to do.
func (e *Engine) Thaw() error {
	if err := e.Show(node.Busy); err != nil {
		return err
	}
	return e.Signal(syscall.SIGCONT)
}

// Show lets its GPUs show what they do, until the engine has begun or ended to compute
// tokens.
func (e *Engine) Show(activity string) error {
	for _, gpu := range e.gpus() {
		if err := e.options.Node.Activity(gpu, activity); err != nil {
			return err
		}
	}
	return nil
}

// Ask sends a request of so many words for so many tokens, which come as a stream, and
// gives how it ended: true is with the mark of its end. Nobody need wait for it.
func (e *Engine) Ask(ctx context.Context, words, tokens int) <-chan bool {
	whole := make(chan bool, 1)
	body := fmt.Sprintf(`{"prompt":%q,"max_tokens":%d,"stream":true}`, strings.Repeat("w ", words), tokens)
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, e.URL+"/v1/completions", strings.NewReader(body))
	if err != nil {
		whole <- false
		return whole
	}
	go func() {
		answer, err := http.DefaultClient.Do(request)
		if err != nil {
			whole <- false
			return
		}
		defer answer.Body.Close()
		text, err := io.ReadAll(answer.Body)
		whole <- err == nil && strings.HasSuffix(string(text), "data: [DONE]\n\n")
	}()
	return whole
}
