package e2e

import (
	"strings"
	"testing"
	"time"

	"github.com/gpuhealthd/gpuhealthd/test/daemontest"
)

// TestACutAnswerIsNoFrozenOne: a replica that dies in the middle of an answer is seen
// within a second; one that stands still is told apart from it, and from one that
// nobody can reach.
func TestACutAnswerIsNoFrozenOne(t *testing.T) {
	t.Parallel()
	h := withCanary(t)
	dies := h.deploy("dies", []int{1}, "-token-rate", "2", "-prompt-rate", "1e6")
	stops := h.deploy("stops", []int{2}, "-token-rate", "2", "-prompt-rate", "1e6")
	h.begins()
	dies.awaitAnswering()
	killed := time.Now()
	dies.Kill()
	seen := h.changed("dies", "cut")
	if took := seen.Time.Sub(killed); took > time.Second || !strings.Contains(seen.Why, "without its end marker") {
		t.Errorf("seen after %s: %+v", took, seen)
	}
	h.changed("dies", "unreachable")

	stops.awaitAnswering()
	stops.freeze()
	if seen := h.changed("stops", "frozen"); !strings.Contains(seen.Why, "no token for 2s") {
		t.Errorf("of one that stands still: %+v", seen)
	}
}

// TestAFailingCanaryOnlyTells: a replica that is slow is degraded by its pod's label, its
// score and its metrics; it serves on, and so does the node.
func TestAFailingCanaryOnlyTells(t *testing.T) {
	t.Parallel()
	h := withCanary(t).gated()
	slow := h.deploy("slow", []int{3}, "-token-rate", "100", "-prompt-rate", "1e6")
	h.begins()
	h.awaitGate("slow", "True", "")
	rate := h.Metric("serving_canary_tokens_per_second", h.full("slow"))
	if rate < 20 || h.Metric("serving_canary_first_token_seconds", h.full("slow")) <= 0 {
		t.Errorf("%.1f tokens a second", rate)
	}
	before := h.object()
	slow.fault("slow 20")
	h.awaitGate("slow", "True", "degraded")
	daemontest.Await(t, "the score has fallen", func() bool {
		part := h.Metric("serving_score_part", h.full("slow"), `part="canary"`)
		return part > 0 && part < 0.7
	})
	if s := h.Status(); len(s.Incidents)+len(s.History) > 0 || h.object().Labels["gpuhealthd.io/state"] != "healthy" || h.object().ResourceVersion != before.ResourceVersion {
		t.Errorf("a canary has acted: %+v", s.Incidents)
	}
	if !strings.Contains(h.StatusText(), h.full("slow")+" fails: the canary's request: slow") {
		t.Errorf("gpuhealthd status says\n%s", h.StatusText())
	}
	slow.fault("well")
	h.awaitGate("slow", "True", "")
}

// TestNobodyIsAskedInADrain: while pods are moved, who serves has their load to carry,
// and is left alone; who is on probation serves nobody, and is asked.
func TestNobodyIsAskedInADrain(t *testing.T) {
	t.Parallel()
	h := withCanary(t)
	h.deploy("moved", []int{2}, "-token-rate", "100")
	h.deploy("serves", []int{5}, "-token-rate", "100")
	h.gated().deploy("frozen", []int{6})
	h.engines["frozen"].AwaitUp()
	h.engines["frozen"].fault(outOfOrder)
	h.budget(0)
	h.begins()
	h.awaitAnswers(3, "passed")
	h.sicken(2)
	h.awaitState("draining")
	h.awaitLabel("moved", "", "draining")
	h.awaitAnswers(2, "frozen") // what was under way has ended
	before := h.answers("passed")
	h.awaitAnswers(3, "frozen")
	if after := h.answers("passed"); after != before {
		t.Errorf("%.0f requests were answered during the drain", after-before)
	}
	h.budget(1)
	h.gone("moved")
	h.awaitAnswers(2, "passed")
}
