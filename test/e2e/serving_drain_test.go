package e2e

import (
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/gpuhealthd/gpuhealthd/fault"
	"github.com/gpuhealthd/gpuhealthd/internal/config"
	"github.com/gpuhealthd/gpuhealthd/remediate"
	"github.com/gpuhealthd/gpuhealthd/serving"
	"github.com/gpuhealthd/gpuhealthd/sim/node"
	"github.com/gpuhealthd/gpuhealthd/test/daemontest"
)

// TestARequestThatCanFinishDoes: one of two data-parallel engines of a pod is stuck, and
// the other still has a stream open when the pod goes out of rotation. Then a GPU fails,
// and the pod there is moved as soon as its engine has nothing more to do. What stalls
// on a MIG instance before Hopper, of which no activity is told, is recorded.
func TestARequestThatCanFinishDoes(t *testing.T) {
	t.Parallel()
	h := onServing(t).hurried()
	h.Config.Serving.DrainCeiling = config.Duration(10 * time.Second)
	ranks := h.deploy("ranks", []int{0, 1}, "-ranks", "2")
	healthy := h.deploy("healthy", []int{2})
	must(t, h.Sim.MIG("3", true))
	must(t, h.Sim.Set("3", "gpm.sm", node.Unsupported)) // as before Hopper
	mig := h.deployed("mig", []int{3})
	h.kubelet.Give(h.name, "mig", "nvidia.com/mig-1g.10gb", h.instance(3))
	h.budget(8)
	for _, e := range []*simEngine{ranks, healthy, mig} {
		e.AwaitUp()
	}
	lost := ranks.ask(1, 100000) // of the first engine
	mig.ask(1, 100000)
	h.begins()
	awaitReplica(t, h.Daemon, h.full("ranks"), serving.Well)
	awaitReplica(t, h.Daemon, h.full("mig"), serving.Well)
	mig.freeze()
	ranks.fault("stuck 0")
	finishes := ranks.ask(1, 450) // nine seconds, of the other
	i := awaitStall(t, h.Daemon, h.full("ranks"), fault.StalledEngine)
	if !strings.Contains(i.Verdict.Reason, "engine 0") {
		t.Errorf("the stall is %q, want it of engine 0", i.Verdict.Reason)
	}
	daemontest.Await(t, "the pod is out of rotation", func() bool { p := h.pod("ranks"); return p != nil && p.Labels[inRotation] == "" })
	if !<-finishes {
		t.Error("a request that could finish was cut")
	}
	h.gone("ranks")
	if <-lost {
		t.Error("a request of the engine that is stuck has finished")
	}
	h.AwaitLog("pod is moved off its GPU", h.full("ranks"), "it has had its time")

	whole := healthy.ask(1, 150)
	h.sicken(2)
	h.gone("healthy")
	if !<-whole {
		t.Error("a request of the pod that was drained was cut")
	}
	h.AwaitLog("pod is moved off its GPU", h.full("healthy"), "it runs nothing")

	h.AwaitLog(`"fault":"stalled-engine","action":"record","radius":"mig"`, "what its GPUs do is not known")
	awaitReplica(t, h.Daemon, h.full("mig"), serving.Doubtful)
	h.untouched(mig.pod)
}

// TestAStallThatPasses while its pod is waited for: the pod goes back into rotation, and
// what it had to do it does.
func TestAStallThatPasses(t *testing.T) {
	t.Parallel()
	h := onServing(t).hurried()
	h.Config.Serving.DrainCeiling = config.Duration(time.Minute)
	e := h.deploy("pauses", []int{0})
	e.AwaitUp()
	finishes := e.ask(1, 500)
	h.begins()
	awaitReplica(t, h.Daemon, h.full("pauses"), serving.Well)
	e.freeze()
	awaitStall(t, h.Daemon, h.full("pauses"), fault.StalledEngine)
	inRotationIs := func(want string) func() bool {
		return func() bool { p := h.pod("pauses"); return p != nil && p.Labels[inRotation] == want }
	}
	daemontest.Await(t, "the pod is out of rotation", inRotationIs(""))
	must(t, e.Thaw())
	daemontest.Await(t, "the pod is back in rotation", inRotationIs("yes"))
	if !<-finishes {
		t.Error("its request was cut")
	}
	if strings.Contains(h.Log(), "pod is moved off its GPU") {
		t.Error("the pod was moved")
	}
}

// instance is the UUID of a GPU's only MIG instance, as the simulated driver makes it of
// the GPU's.
func (h *servingHost) instance(gpu int) string {
	uuid := strings.TrimPrefix(h.GPU(gpu).UUID, "GPU-")
	return "MIG-" + uuid[:len(uuid)-2] + "00"
}

// TestTheSecondStallIsTheGPUs: the pod is restarted for the first; the next one on that
// GPU stalls as well, and the GPU is closed, drained and diagnosed. The node's other pods
// go on.
func TestTheSecondStallIsTheGPUs(t *testing.T) {
	t.Parallel()
	h := onServing(t).hurried()
	h.diagnoses()
	must(t, h.Sim.DCGM().Start(dcgmEngine))
	bystander := h.deploy("bystander", []int{1})
	bystander.AwaitUp()
	goesOn := bystander.ask(1, 100000)
	first := h.deploy("first", []int{0})
	first.AwaitUp()
	first.ask(1, 100000)
	h.begins()
	seen := h.record()
	awaitReplica(t, h.Daemon, h.full("first"), serving.Well)
	first.freeze()
	h.gone("first")

	second, sharer := h.deploy("second", []int{0}), h.deploy("sharer", []int{0})
	second.AwaitUp()
	sharer.AwaitUp()
	second.ask(1, 100000)
	awaitReplica(t, h.Daemon, h.full("second"), serving.Well)
	second.freeze()
	i := awaitStall(t, h.Daemon, h.full("second"), fault.StalledGPU)
	if v := i.Verdict; v.Action != fault.Diag || v.Diag != 2 || len(v.GPUs) != 1 || v.GPUs[0].UUID != h.GPU(0).UUID {
		t.Errorf("the second stall is %+v", v)
	}
	h.await("the Node is cordoned for it", func(n *corev1.Node) bool {
		return n.Spec.Unschedulable && n.Labels["gpuhealthd.io/fault"] == string(fault.StalledGPU)
	})
	h.gone("second")
	h.gone("sharer")
	h.awaitBack()
	if n := h.Metric("diag_results_total", `level="2"`, `verdict="pass"`); n != 1 {
		t.Errorf("%v GPUs have passed a diagnosis, want 1", n)
	}
	for _, state := range []string{"draining", "repairing", "probation"} {
		if got := h.states(seen); !slices.Contains(got, state) {
			t.Errorf("the Node was %v, and not %s", got, state)
		}
	}
	h.untouched(bystander.pod)
	select {
	case <-goesOn:
		t.Error("a request on another GPU was cut")
	default:
	}
	if s := h.Status(); len(s.Incidents) > 0 || !slices.ContainsFunc(s.History, func(i remediate.Incident) bool { return i.Verdict.Class == fault.StalledGPU }) {
		t.Errorf("incidents %v, and %v", s.Incidents, s.History)
	}
}
