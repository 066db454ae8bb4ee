package e2e

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/gpuhealthd/gpuhealthd/internal/config"
	"github.com/gpuhealthd/gpuhealthd/test/daemontest"
)

// TestAColdReplicaIsHeld until two requests in a row were answered in time.
func TestAColdReplicaIsHeld(t *testing.T) {
	t.Parallel()
	h := withCanary(t).gated()
	h.deploy("cold", []int{1}, "-cold", "3", "-token-rate", "60", "-prompt-rate", "20000")
	h.begins()
	if got := h.awaitGate("cold", "False", "probation"); got.Reason != "Probation" || !strings.Contains(got.Message, "two requests of a canary") {
		t.Errorf("the gate is closed: %+v", got)
	}
	if got := h.awaitGate("cold", "True", ""); got.Reason != "Proved" {
		t.Errorf("the gate is open: %+v", got)
	}
	if slow, passed := h.answers("slow"), h.answers("passed"); slow != 3 || passed < 2 {
		t.Errorf("it was opened after %.0f slow answers and %.0f in time", slow, passed)
	}
	h.AwaitMetric(1, "serving_replica_trial", h.full("cold"), `trial="passed"`)
}

// TestAFrozenReplicaNeverPasses: its loop stands still behind /health and /metrics, and
// an agent that is killed meanwhile changes nothing.
func TestAFrozenReplicaNeverPasses(t *testing.T) {
	t.Parallel()
	h := withCanary(t).gated()
	e := h.deploy("frozen", []int{1}, "-token-rate", "100")
	e.AwaitUp()
	e.fault(outOfOrder)
	h.begins()
	h.awaitGate("frozen", "False", "probation")
	h.awaitAnswers(2, "frozen")
	h.Kill()
	h.StartReady()
	h.awaitAnswers(2, "frozen")
	if got := h.gateOf("frozen"); got.Status != corev1.ConditionFalse || !strings.Contains(got.Message, "; the canary's request: frozen") {
		t.Errorf("the gate is %+v", got)
	}
	if !strings.Contains(h.StatusText(), h.full("frozen")+" gets no requests yet: the canary's request: frozen") {
		t.Errorf("gpuhealthd status says\n%s", h.StatusText())
	}
	e.fault("well")
	h.awaitGate("frozen", "True", "")
}

// TestAGateDoesNotFlap: an agent that comes back finds the gate open, and the pod is
// written to by nobody.
func TestAGateDoesNotFlap(t *testing.T) {
	t.Parallel()
	h := withCanary(t).gated()
	h.Config.Serving.Probation = config.LivesEvery
	h.deploy("serves", []int{1}, "-token-rate", "100")
	h.begins()
	h.awaitGate("serves", "True", "")
	before := h.pod("serves")
	h.Kill()
	h.StartReady()
	h.AwaitMetric(3, "canary_requests_total", `outcome="passed"`)
	h.untouched(before)
}

// TestEveryLifeIsOnTrial: where the site wants it, a container that starts anew closes
// its pod's gate, or takes its pod's label, until it has proved itself.
func TestEveryLifeIsOnTrial(t *testing.T) {
	t.Parallel()
	h := withCanary(t)
	h.Config.Serving.Probation = config.LivesEvery
	h.deploy("labelled", []int{1}, "-token-rate", "100")
	h.gated().deploy("gated", []int{2}, "-token-rate", "100")
	h.begins()
	h.awaitGate("gated", "True", "")
	if pod := h.pod("labelled"); pod.Labels[inRotation] != "yes" || pod.Labels[standing] != "" {
		t.Errorf("one that was there before says %v", pod.Labels)
	}
	h.restarts("gated", 2, "-token-rate", "100", "-load", "2s")
	h.restarts("labelled", 1, "-token-rate", "100", "-load", "2s")
	h.awaitGate("gated", "False", "probation")
	out := h.awaitLabel("labelled", "", "probation")
	if out.Annotations["gpuhealthd.io/out-of-rotation"] != "yes" {
		t.Errorf("nobody would give it back: %v", out.Annotations)
	}
	h.Kill() // the next one goes on with the trials
	h.StartReady()
	h.awaitGate("gated", "True", "")
	h.awaitLabel("labelled", "yes", "")
}

// TestTrialsAreSwitchedOff: whoever was held has requests again.
func TestTrialsAreSwitchedOff(t *testing.T) {
	t.Parallel()
	h := withCanary(t)
	h.Config.Serving.Probation = config.LivesEvery
	h.deploy("labelled", []int{1}, "-token-rate", "100")
	h.begins()
	h.awaitAnswers(1, "passed")
	h.restarts("labelled", 1, "-load", "1h")
	h.awaitLabel("labelled", "", "probation")
	h.Stop()
	h.Config.Serving.Enabled, h.Config.Serving.Canary.Enabled = false, false
	h.StartReady()
	h.awaitLabel("labelled", "yes", "")
}

// awaitLabel returns a pod once it has the label of rotation, or not, and stands so.
func (h *servingHost) awaitLabel(name, rotation, state string) (pod *corev1.Pod) {
	h.t.Helper()
	daemontest.Await(h.t, name+" is "+state+", in rotation "+rotation, func() bool {
		pod = h.pod(name)
		return pod.Labels[inRotation] == rotation && pod.Labels[standing] == state
	})
	return pod
}

// TestATrialWithoutACanary goes by the engine's own word; and where nobody can tell, the
// pod says what is missing.
func TestATrialWithoutACanary(t *testing.T) {
	t.Parallel()
	h := withCanary(t).gated()
	h.Config.Serving.Canary.Enabled = false
	h.deploy("tells", []int{1})
	silent := h.deploy("silent", []int{2})
	h.deployed("without", []int{3}) // a GPU, which the kubelet does not know of
	silent.AwaitUp()
	silent.fault("hang-metrics on")
	h.begins()
	h.awaitGate("tells", "True", "")
	daemontest.Await(t, "one pod says what is missing", func() bool {
		return strings.Contains(h.gateOf("without").Message, "no GPU of this node is known to be given to it")
	})
	if got := h.gateOf("silent"); got.Status != corev1.ConditionFalse {
		t.Errorf("the gate of one that does not answer is %+v", got)
	}
	silent.fault("well")
	h.awaitGate("silent", "True", "")
}

// TestANodeWaitsForItsReplicas: it was repaired, and comes back when they have proved
// that they serve.
func TestANodeWaitsForItsReplicas(t *testing.T) {
	t.Parallel()
	h := withCanary(t).gated()
	e := h.deploy("frozen", []int{5}, "-token-rate", "100")
	e.AwaitUp()
	e.fault(outOfOrder)
	h.begins()
	h.awaitGate("frozen", "False", "probation")
	h.sicken(2)
	extended := h.awaitEvent("ProbationExtended")
	if !strings.Contains(extended.Note, h.full("frozen")) {
		t.Errorf("the event says %q", extended.Note)
	}
	h.awaitAnswers(2, "frozen")
	n := h.object()
	if !n.Spec.Unschedulable || n.Labels["gpuhealthd.io/state"] != "probation" || !strings.Contains(n.Annotations["gpuhealthd.io/incident"], `"until":`) {
		t.Errorf("the node waits as %+v", n)
	}
	e.fault("well")
	h.awaitGate("frozen", "True", "")
	h.awaitBack()
	if got := h.awaitEvent("ProbationServed"); strings.Contains(got.Note, "any longer") {
		t.Errorf("the event says %q", got.Note)
	}
}

// TestANodeWaitsNoLongerThanItsLimit, and says for whom it has waited in vain.
func TestANodeWaitsNoLongerThanItsLimit(t *testing.T) {
	t.Parallel()
	h := withCanary(t).gated()
	h.Config.Serving.ProbationLimit = config.Duration(3e9)
	e := h.deploy("frozen", []int{5})
	e.AwaitUp()
	e.fault(outOfOrder)
	h.begins()
	h.awaitGate("frozen", "False", "probation")
	h.sicken(2)
	h.awaitBack()
	if got := h.awaitEvent("ProbationServed"); !strings.Contains(got.Note, "without waiting any longer for "+h.full("frozen")) {
		t.Errorf("the event says %q", got.Note)
	}
	if got := h.gateOf("frozen"); got.Status != corev1.ConditionFalse {
		t.Errorf("the gate is %+v", got)
	}
}
