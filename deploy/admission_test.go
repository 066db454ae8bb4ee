package deploy

import (
	"reflect"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gpuhealthd/gpuhealthd/remediate/operands"
)

// Parts of patches. The list of taints is atomic and has the API server's own.
const (
	notReady   = `{"key":"node.kubernetes.io/not-ready","effect":"NoSchedule"}`
	quarantine = `{"key":"gpuhealthd.io/quarantine","value":"xid-79","effect":"NoSchedule"}`

	cordon    = `{"spec":{"unschedulable":true}}`
	uncordon  = `{"spec":{"unschedulable":null}}`
	taint     = `{"spec":{"taints":[` + notReady + `,` + quarantine + `]}}`
	noTaint   = `{"spec":{"taints":[` + notReady + `]}}`
	pause     = `{"metadata":{"labels":{"nvidia.com/gpu.deploy.dcgm":"paused-by-gpuhealthd.true"}}}`
	restore   = `{"metadata":{"labels":{"nvidia.com/gpu.deploy.dcgm":"true"}}}`
	keep      = `{"metadata":{"annotations":{"karpenter.sh/do-not-disrupt":"true","cluster-autoscaler.kubernetes.io/scale-down-disabled":"true"}}}`
	noKeep    = `{"metadata":{"annotations":{"karpenter.sh/do-not-disrupt":null,"cluster-autoscaler.kubernetes.io/scale-down-disabled":null}}}`
	takeOut   = `{"metadata":{"labels":{"gpuhealthd.io/in-rotation":null,"gpuhealthd.io/serving":"draining"},"annotations":{"gpuhealthd.io/out-of-rotation":"yes","gpuhealthd.io/serving":"{}"}}}`
	stall     = `{"metadata":{"labels":{"gpuhealthd.io/in-rotation":null,"gpuhealthd.io/serving":"stalled"},"annotations":{"gpuhealthd.io/out-of-rotation":"yes","gpuhealthd.io/serving":"{}"}}}`
	putBack   = `{"metadata":{"labels":{"gpuhealthd.io/in-rotation":"yes","gpuhealthd.io/serving":null},"annotations":{"gpuhealthd.io/out-of-rotation":null,"gpuhealthd.io/serving":null}}}`
	leftBy    = `{"metadata":{"annotations":{"gpuhealthd.io/stale-peer":"2026-11-30T16:00:00Z ns/prefill-0"}}}`
	noLeft    = `{"metadata":{"annotations":{"gpuhealthd.io/stale-peer":null}}}`
	shut      = `{"status":{"conditions":[{"type":"gpuhealthd.io/ready","status":"False","reason":"OutOfRotation"}]}}`
	label     = `{"metadata":{"labels":{"gpuhealthd.io/state":"suspect"},"annotations":{"gpuhealthd.io/incident":"{}"}}}`
	condition = `{"status":{"conditions":[{"type":"GPUHealthy","status":"False"},{"type":"NVLinkHealthy","status":"Unknown"}]}}`
)

// TestThePoliciesHold goes from the open gate to the closed one.
func TestThePoliciesHold(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	for _, part := range []struct {
		name string
		run  func(*testing.T, *fleet)
	}{{"break-outs", breakOuts}, {"leases", leases}, {"devices", devices}, {"what the agent does", work}, {"what can be taken back", takeBack}, {"evictions", evictions}} {
		t.Run(part.name, func(t *testing.T) {
			f.t = t
			part.run(t, f)
		})
	}
}

// work is what the agent of a node does in all modes together. That the real one gets
// along under these policies the tests in test/e2e show.
func work(t *testing.T, f *fleet) {
	for _, patch := range []string{label, cordon, taint, pause, keep, noKeep, restore, noTaint, uncordon} {
		if err := f.patchNode(f.thief, own, patch, ""); err != nil {
			t.Errorf("%s: %v", patch, err)
		}
	}
	f.must(f.patchNode(f.thief, own, condition, "status"))
	f.must(f.patchPod(f.thief, own, shut, "status"))
	f.must(f.patchPod(f.thief, own, leftBy))
	f.must(f.patchPod(f.thief, own, noLeft))
	for _, out := range []string{takeOut, stall} {
		f.must(f.patchPod(f.thief, own, out))
	}
	f.denied("another label for the one that was", func() error {
		return f.patchPod(f.thief, own, `{"metadata":{"labels":{"gpuhealthd.io/in-rotation":"no"}}}`)
	})
	f.must(f.patchPod(f.thief, own, putBack))
	f.denied("the label once more", func() error {
		return f.patchPod(f.thief, own, `{"metadata":{"labels":{"gpuhealthd.io/in-rotation":"no"}}}`)
	})
	f.must(f.patchPod(f.thief, own, strings.ReplaceAll(shut, "False", "True"), "status"))
	f.must(f.thief.CoreV1().Pods(metav1.NamespaceDefault).Delete(t.Context(), own, metav1.DeleteOptions{}))
}

// takeBack closes the gate as far as it goes: an agent says what it sees, sets nothing
// that takes a node out of service, and takes away what one of another mode has left.
func takeBack(t *testing.T, f *fleet) {
	f.allow("false")
	rules := f.thief.ResourceV1().DeviceTaintRules()
	f.denied("fence a device", func() error {
		_, err := rules.Create(t.Context(), fence("gpuhealthd-own.gpu-0", own), metav1.CreateOptions{})
		return err
	})
	_, err := f.admin.ResourceV1().DeviceTaintRules().Create(t.Context(), fence("gpuhealthd-own.gpu-0", own), metav1.CreateOptions{})
	f.must(err)
	f.must(rules.Delete(t.Context(), "gpuhealthd-own.gpu-0", metav1.DeleteOptions{}))
	for name, patch := range map[string]string{"cordon": cordon, "taint": taint, "pause an operand": pause, "keep from autoscalers": keep} {
		f.denied(name, func() error { return f.patchNode(f.thief, own, patch, "") })
	}
	for _, patch := range []string{cordon, taint, pause, keep} {
		f.must(f.patchNode(f.admin, own, patch, ""))
	}
	f.must(f.patchNode(f.thief, own, label, ""))
	f.must(f.patchNode(f.thief, own, strings.Replace(taint, "xid-79", "xid-95", 1), "")) // one that stands tells of another fault
	f.must(f.patchNode(f.thief, own, condition, "status"))
	for _, patch := range []string{uncordon, noTaint, restore, noKeep} {
		f.must(f.patchNode(f.thief, own, patch, ""))
	}
}

// TestThePolicyNamesEveryFieldOfANode: it has to compare one by one all that is not
// the agent's, so that a field of a newer API has to be added to it.
func TestThePolicyNamesEveryFieldOfANode(t *testing.T) {
	policy := string(read(t, "admission.yaml"))
	for part, kind := range map[string]reflect.Type{"spec": reflect.TypeFor[corev1.NodeSpec](), "status": reflect.TypeFor[corev1.NodeStatus]()} {
		for i := range kind.NumField() {
			name, _, _ := strings.Cut(kind.Field(i).Tag.Get("json"), ",")
			if !strings.Contains(policy, "oldObject."+part+".?"+name) {
				t.Errorf("%s.%s may be changed by anybody with an agent's token", part, name)
			}
		}
	}
}

// TestThePolicyKnowsTheOperandsLabels: the labels that the agent pauses begin as the
// policy says.
func TestThePolicyKnowsTheOperandsLabels(t *testing.T) {
	const prefix = "nvidia.com/gpu.deploy."
	if !strings.Contains(string(read(t, "admission.yaml")), "'"+prefix+"'") {
		t.Errorf("the policy does not name %s", prefix)
	}
	for _, label := range operands.Labels() {
		if !strings.HasPrefix(label, prefix) {
			t.Errorf("label %s does not begin with %s", label, prefix)
		}
	}
}
