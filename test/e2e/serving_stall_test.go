package e2e

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gpuhealthd/gpuhealthd/fault"
	"github.com/gpuhealthd/gpuhealthd/serving"
	"github.com/gpuhealthd/gpuhealthd/sim/node"
	"github.com/gpuhealthd/gpuhealthd/test/daemontest"
)

// found is how soon a stall is found at the defaults: after the 15 s without progress
// that make one, and the period of the looks.
const found = 20 * time.Second

// lagging is the same of SGLang, whose counts may be 30 s old.
const lagging = 40 * time.Second

// TestStalledEnginesAreRestarted, and nothing else is: at the defaults, with a replica on
// each GPU of the node. Three of them stall, each in its own way, the others only look so.
func TestStalledEnginesAreRestarted(t *testing.T) {
	t.Parallel()
	h := onServing(t)
	frozen := h.deploy("frozen", []int{0})
	dead := h.deploy("dead", []int{1}, "-kind", "sglang")
	mute := h.deploy("mute", []int{2}, "-kind", "tgi")
	prefill := h.deploy("prefill", []int{3}, "-prompt-rate", "1")
	slowly := h.deploy("slowly", []int{4}, "-token-rate", "0.1")
	asleep := h.deploy("asleep", []int{5})
	idle := h.deploy("idle", []int{6}, "-kind", "vllm-v0")
	loading := h.deploy("loading", []int{7}, "-load", "10m")
	stalls := []*simEngine{frozen, dead, mute}
	quiet := []*simEngine{prefill, slowly, asleep, idle, loading}

	for _, e := range slices.Concat(stalls, []*simEngine{prefill, slowly, asleep, idle}) {
		e.AwaitUp()
	}
	for _, e := range stalls {
		e.ask(1, 100000)
	}
	prefill.ask(1000, 1)
	slowly.ask(1, 1000)
	asleep.ask(1, 100000)
	h.begins()
	must(t, prefill.Show(node.Busy)) // the engine shows tokens alone
	must(t, idle.Show(node.Ghost))   // of an engine that does nothing
	for _, e := range stalls {
		awaitReplica(t, h.Daemon, h.full(e.pod.Name), serving.Well)
	}
	awaitPolls(t, h.Daemon, 2) // not right behind a look
	began := time.Now()
	frozen.freeze()
	dead.fault("dead on")
	mute.fault("dead on")
	mute.fault("hang-metrics on")
	asleep.fault("sleep on")

	for _, e := range stalls {
		i := awaitStall(t, h.Daemon, h.full(e.pod.Name), fault.StalledEngine)
		took := i.Verdict.Opened.Sub(began)
		t.Logf("%s is found after %s: %s", e.pod.Name, took.Round(time.Millisecond), i.Verdict.Reason)
		limit := found
		if e == dead {
			limit = lagging
		}
		if took > limit {
			t.Errorf("%s is found after %s, want within %s", e.pod.Name, took, limit)
		}
	}
	for _, e := range stalls {
		h.gone(e.pod.Name)
	}
	for _, e := range quiet {
		h.untouched(e.pod)
	}
	n := h.object()
	if n.Spec.Unschedulable || quarantine(n) != nil || n.Labels["gpuhealthd.io/gpus-healthy"] != "8" {
		t.Errorf("the Node is not in service: %v %v", n.Labels, n.Spec)
	}
	if s := h.Status(); len(s.Incidents)+len(s.History) != len(stalls) {
		t.Errorf("incidents %v, and %v", s.Incidents, s.History)
	}
	if moved := strings.Count(h.Log(), "pod is moved off its GPU"); moved != len(stalls) {
		t.Errorf("%d pods were moved, want %d", moved, len(stalls))
	}
	h.tells(quiet)
}

// tells fails the test unless a person is shown how the replicas are.
func (h *servingHost) tells(quiet []*simEngine) {
	h.t.Helper()
	text := h.StatusText()
	for _, e := range quiet {
		if !strings.Contains(text, h.full(e.pod.Name)) {
			h.t.Errorf("the status does not tell of %s:\n%s", e.pod.Name, text)
		}
	}
	if score := h.Metric("serving_score", `replica="`+h.full("slowly")+`"`); score <= 0 {
		h.t.Errorf("the score of a replica that is slow and well: %v", score)
	}
}

// TestAStallIsOnlyToldOf in mode contain: the restart is requested, and no pod touched.
func TestAStallIsOnlyToldOf(t *testing.T) {
	t.Parallel()
	h := onServing(t).hurried()
	h.Config.Mode = "contain"
	e := h.deploy("frozen", []int{0})
	e.AwaitUp()
	e.ask(1, 100000)
	h.begins()
	awaitReplica(t, h.Daemon, h.full("frozen"), serving.Well)
	e.freeze()
	if i := awaitStall(t, h.Daemon, h.full("frozen"), fault.StalledEngine); i.Verdict.Action != fault.Restart {
		t.Errorf("%+v", i.Verdict)
	}
	if told := h.awaitEvent("RestartRequested"); !strings.Contains(told.Note, h.full("frozen")) {
		t.Errorf("the event says %q", told.Note)
	}
	h.untouched(e.pod)
	if h.object().Spec.Unschedulable {
		t.Error("the Node is cordoned for an engine")
	}
}

// TestAnAgentKilledInAStall finds it all the same, of a pod whose GPU is a resource
// claim's, and moves the pod once, as soon as its disruption budget lets it.
func TestAnAgentKilledInAStall(t *testing.T) {
	t.Parallel()
	h := onServing(t).hurried()
	e := h.deployed("claims", []int{0})
	h.budget(0)
	h.kubelet.Claim(h.name, "claims", "gpu.nvidia.com", "gpu-0")
	e.AwaitUp()
	e.ask(1, 100000)
	h.begins()
	awaitReplica(t, h.Daemon, h.full("claims"), serving.Well)
	e.freeze()
	awaitReplica(t, h.Daemon, h.full("claims"), serving.Unclear) // it is silent, and not for long enough
	h.Kill()
	h.StartReady()
	awaitStall(t, h.Daemon, h.full("claims"), fault.StalledEngine)
	h.AwaitMetric(1, "api_request_seconds_count", `resource="pods/eviction"`, `code="429"`)
	if pod := h.pod("claims"); pod == nil || pod.DeletionTimestamp != nil || pod.Labels[inRotation] != "" {
		t.Errorf("while its budget refuses the pod is %+v, want it alive and out of rotation", pod)
	}
	h.budget(1)
	h.gone("claims")
	if moved := strings.Count(h.Log(), "pod is moved off its GPU"); moved != 1 {
		t.Errorf("the pod was moved %d times", moved)
	}
}

// TestAStallOnBareMetal is asked for in the log: the site's list names the engine by its
// process, and there is no Kubernetes. Until then the engine is much slower than the fleet,
// as Prometheus has it.
func TestAStallOnBareMetal(t *testing.T) {
	t.Parallel()
	d := programs.New(t)
	w := equip(t, d)
	d.Config.Mode = "contain"
	hurry(&d.Config)
	d.Config.Serving.Enabled = true
	e := w.engine("", "", []int{3})
	d.Config.Serving.Engines = append(d.Config.Serving.Engines, localEngine("chat", "engine", e.Metrics()))
	d.Config.Serving.Prometheus = fleetAt(t, "0.001")
	e.AwaitUp()
	e.ask(1, 100000)
	d.StartReady()
	awaitReplica(t, d, "chat", serving.Well)
	daemontest.Await(t, "it is slower than the fleet", func() bool {
		part, known := replicaNamed(d, "chat").Parts[serving.PartLatency]
		return known && part == 0
	})
	e.freeze()
	i := awaitStall(t, d, "chat", fault.StalledEngine)
	if gpus := i.Verdict.GPUs; len(gpus) != 1 || gpus[0].UUID != d.GPU(3).UUID {
		t.Errorf("the verdict is about %v, want GPU 3, which the process has open", gpus)
	}
	d.AwaitLog("verdict", string(fault.StalledEngine), "workloads", "chat", " told of ")
	d.AwaitLog("stalled-engine of chat on " + d.GPU(3).UUID)
	d.AwaitLog("RestartRequested", "chat")
}
