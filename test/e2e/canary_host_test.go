package e2e

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gpuhealthd/gpuhealthd/internal/config"
	"github.com/gpuhealthd/gpuhealthd/test/daemontest"
)

// ready is the readiness gate, standing the label that says how a pod stands.
const (
	ready      = "gpuhealthd.io/ready"
	standing   = "gpuhealthd.io/serving"
	outOfOrder = "dead on" // the engine's loop stands still behind /health and /metrics
)

// withCanary prepares a daemon that asks the replicas what users would ask.
func withCanary(t testing.TB) *servingHost {
	t.Helper()
	h := onServing(t)
	h.Config.Serving.Period, h.Config.Serving.Deadline = config.Duration(time.Second), config.Duration(time.Second)
	c := &h.Config.Serving.Canary
	c.Enabled, c.Period, c.PerMinute = true, config.Duration(5*time.Second), 600
	c.Frozen, c.FirstToken, c.Rate = config.Duration(2*time.Second), config.Duration(2*time.Second), 10
	return h
}

// gated lets the pods that are deployed from now on have the readiness gate.
func (h *servingHost) gated() *servingHost {
	h.gates = []corev1.PodReadinessGate{{ConditionType: ready}}
	return h
}

// gateOf is the condition of a pod's gate; empty where nobody has set it.
func (h *servingHost) gateOf(name string) (c corev1.PodCondition) {
	h.t.Helper()
	if pod := h.pod(name); pod != nil {
		for _, have := range pod.Status.Conditions {
			if have.Type == ready {
				return have
			}
		}
	}
	return c
}

// awaitGate returns when a pod's gate was turned so, and the label fits.
func (h *servingHost) awaitGate(name string, status corev1.ConditionStatus, state string) corev1.PodCondition {
	h.t.Helper()
	daemontest.Await(h.t, fmt.Sprintf("the gate of %s is %s, and it is %q", name, status, state), func() bool {
		return h.gateOf(name).Status == status && h.pod(name).Labels[standing] == state
	})
	return h.gateOf(name)
}

// answers are how many of the canary's requests ended so.
func (h *servingHost) answers(outcome string) float64 {
	h.t.Helper()
	return h.Metric("canary_requests_total", `outcome="`+outcome+`"`)
}

// awaitAnswers returns when so many more have.
func (h *servingHost) awaitAnswers(more float64, outcome string) {
	h.t.Helper()
	h.AwaitMetric(h.answers(outcome)+more, "canary_requests_total", `outcome="`+outcome+`"`)
}

// restarts starts the container of a pod anew, engine and all, and says so as the
// kubelet does.
func (h *servingHost) restarts(name string, gpu int, flags ...string) {
	h.t.Helper()
	before := h.engines[name]
	before.Kill()
	h.engines[name] = h.engine(before.Address, string(before.pod.UID), []int{gpu}, flags...)
	pod := h.pod(name)
	h.engines[name].pod = pod
	c := &pod.Status.ContainerStatuses[0]
	c.RestartCount++
	c.ContainerID = fmt.Sprintf("test://%s-%d", pod.UID, c.RestartCount)
	c.State.Running = &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(time.Now().Add(time.Second))}
	_, err := h.admin.CoreV1().Pods(h.name).UpdateStatus(h.t.Context(), pod, metav1.UpdateOptions{})
	must(h.t, err)
}

// generated is how the simulated engine counts the tokens that it has sent.
var generated = regexp.MustCompile(`(?m)^vllm:generation_tokens_total\{[^}]*\} ([0-9.e+]+)`)

// awaitAnswering returns once an answer has begun.
func (e *simEngine) awaitAnswering() {
	e.t.Helper()
	daemontest.Await(e.t, "an answer has begun", func() bool {
		answer, err := http.Get(e.URL + "/metrics")
		if err != nil {
			return false
		}
		defer answer.Body.Close()
		text, err := io.ReadAll(answer.Body)
		must(e.t, err)
		found := generated.FindSubmatch(text)
		return found != nil && string(found[1]) != "0"
	})
}

// told is a record of the canary in the daemon's log.
type told struct {
	Time                  time.Time
	Msg, Replica, Outcome string
	Why                   string
}

// changed gives the first record of a replica whose requests end so.
func (h *servingHost) changed(name, outcome string) (found told) {
	h.t.Helper()
	daemontest.Await(h.t, "the log says that "+name+" is "+outcome, func() bool {
		for line := range strings.Lines(h.Log()) {
			var r told
			if json.Unmarshal([]byte(line), &r) == nil && strings.HasPrefix(r.Msg, "a canary's requests") && r.Replica == h.full(name) && r.Outcome == outcome {
				found = r
				return true
			}
		}
		return false
	})
	return found
}
