// Package check proves gpuhealthd check from outside: its real binary on a simulated
// GPU node, beside a daemon and without one.
package check

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/gpuhealthd/gpuhealthd/test/daemontest"
)

var programs daemontest.Programs

func TestMain(m *testing.M) {
	defer programs.Remove()
	m.Run()
}

// host is a simulated node on which no daemon has to run.
type host struct {
	*daemontest.Daemon
	t testing.TB
	// config is the check's file, state the folder of its memory.
	config, state string
}

// newHost prepares a node; more is added to the configuration's section nvml.
func newHost(t testing.TB, more string) *host {
	t.Helper()
	h := &host{Daemon: programs.New(t), t: t, state: t.TempDir()}
	h.config = filepath.Join(h.state, "config.yaml")
	h.Must(os.WriteFile(h.config, fmt.Appendf(nil, `
kernelLog: {path: %s, bootIDPath: %s, journalPaths: []}
nvml: {busPath: ""%s}
http: {listen: ""}
state: {path: %s/state.db}
`, h.Sim.KmsgPath(), h.Sim.BootIDPath(), more, h.state), 0o600))
	return h
}

// answer is what a check says as JSON.
type answer struct {
	Result   string `json:"result"`
	Source   string `json:"source"`
	GPUs     *int   `json:"gpus"`
	Healthy  *int   `json:"gpusHealthy"`
	Findings []struct {
		Check string `json:"check"`
		Text  string `json:"text"`
	} `json:"findings"`
	Seconds float64 `json:"seconds"`
}

// statuses are the exit statuses by result.
var statuses = map[string]int{"healthy": 0, "degraded": 1, "faulty": 2, "unknown": 3}

// check runs one, whose exit status must fit what it says.
func (h *host) check(args ...string) (a answer) {
	h.t.Helper()
	cmd := exec.Command(programs.Binary(h.t), append([]string{"check", "--config", h.config, "-o", "json"}, args...)...)
	cmd.Env = append(os.Environ(), h.Env...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if exit := (&exec.ExitError{}); err != nil && !errors.As(err, &exit) {
		h.t.Fatal(err)
	}
	if err := json.Unmarshal(out, &a); err != nil {
		h.t.Fatalf("%v: %s%s", err, out, stderr.Bytes())
	}
	if code := cmd.ProcessState.ExitCode(); code != statuses[a.Result] || stderr.Len() > 0 {
		h.t.Errorf("exit status %d, and it says %s%s", code, out, stderr.Bytes())
	}
	return a
}
