package e2e

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/gpuhealthd/gpuhealthd/test/daemontest"
	"github.com/gpuhealthd/gpuhealthd/test/kubetest"
)

// allocated prepares a daemon on a node whose GPUs NVIDIA's DRA driver gives out.
func allocated(t *testing.T, cluster *kubetest.Cluster) *host {
	t.Helper()
	h := onCluster(t, cluster)
	var devices []resourcev1.Device
	for n := range 8 {
		uuid := h.GPU(n).UUID
		devices = append(devices, resourcev1.Device{Name: fmt.Sprintf("gpu-%d", n),
			Attributes: map[resourcev1.QualifiedName]resourcev1.DeviceAttribute{"uuid": {StringValue: &uuid}}})
	}
	h.publish(devices...)
	h.inService()
	return h
}

// publish has the driver list devices, in the node's pool.
func (h *host) publish(devices ...resourcev1.Device) {
	h.t.Helper()
	slices := h.admin.ResourceV1().ResourceSlices()
	_, err := slices.Create(h.t.Context(), &resourcev1.ResourceSlice{ObjectMeta: metav1.ObjectMeta{Name: h.name}, Spec: resourcev1.ResourceSliceSpec{
		Driver: "gpu.nvidia.com", NodeName: &h.name, Pool: resourcev1.ResourcePool{Name: h.name, Generation: 1, ResourceSliceCount: 1}, Devices: devices}}, metav1.CreateOptions{})
	must(h.t, err)
	h.t.Cleanup(func() { _ = slices.Delete(context.Background(), h.name, metav1.DeleteOptions{}) })
}

// fenced gives the devices of the node that a rule taints, and the rules' names.
func (h *host) fenced() (devices, names []string) {
	h.t.Helper()
	list, err := h.admin.ResourceV1().DeviceTaintRules().List(h.t.Context(), metav1.ListOptions{})
	must(h.t, err)
	for _, r := range list.Items {
		if s := r.Spec.DeviceSelector; *s.Pool == h.name {
			devices, names = append(devices, *s.Device+"="+r.Spec.Taint.Value), append(names, r.Name)
		}
	}
	slices.Sort(devices)
	return devices, names
}

// awaitFenced returns once these devices alone are fenced, and the node serves.
func (h *host) awaitFenced(devices ...string) {
	h.t.Helper()
	h.await("the devices are fenced, and the node serves", func(n *corev1.Node) bool {
		got, _ := h.fenced()
		return slices.Equal(got, devices) && !n.Spec.Unschedulable && quarantine(n) == nil && n.Labels["gpuhealthd.io/state"] == "suspect"
	})
	h.AwaitSettled()
}

// TestADeviceIsFencedInThePlaceOfTheNode: the node is cordoned at once, and serves
// again once the device alone is fenced. The fence outlives the agent, and goes with
// the fault.
func TestADeviceIsFencedInThePlaceOfTheNode(t *testing.T) {
	t.Parallel()
	h := allocated(t, shared.Cluster(t))
	h.sicken(3)
	h.awaitFenced("gpu-3=xid-95")
	h.awaitEvent("NodeQuarantined")
	h.awaitEvent("DeviceFenced")
	if mark := noteOf(t, h.object()); mark.Fence != "device" || h.object().Labels["gpuhealthd.io/gpus-healthy"] != "7" {
		t.Errorf("mark %+v, labels %v", mark, h.object().Labels)
	}
	if text := h.StatusText(); !strings.Contains(text, "device alone is fenced") {
		t.Errorf("status says nothing of it:\n%s", text)
	}
	h.Kill()
	before := h.object().ResourceVersion
	h.StartReady()
	h.staysAsItIs()
	if after := h.object().ResourceVersion; after != before {
		t.Error("the next agent wrote to the Node")
	}
	h.heal(3)
	h.await("all is over", func(n *corev1.Node) bool {
		devices, _ := h.fenced()
		return len(devices) == 0 && n.Labels["gpuhealthd.io/state"] == "healthy" && n.Annotations["gpuhealthd.io/incident"] == ""
	})
}

// TestKilledWhileItFences: whatever the agent has come to, the next one ends with the
// device fenced, or with nothing where the fault is over.
func TestKilledWhileItFences(t *testing.T) {
	for _, moment := range []struct {
		name  string
		reach func(h *host)
	}{
		{"when the Node is cordoned", func(h *host) {
			h.await("the Node is cordoned", func(n *corev1.Node) bool { return n.Spec.Unschedulable })
		}},
		{"when the rule stands", func(h *host) {
			daemontest.Await(h.t, "the rule stands", func() bool { devices, _ := h.fenced(); return len(devices) > 0 })
		}},
		{"when the node serves", func(h *host) { h.awaitFenced("gpu-5=xid-95") }},
	} {
		t.Run(moment.name, func(t *testing.T) {
			t.Parallel()
			h := allocated(t, shared.Cluster(t))
			h.sicken(5)
			moment.reach(h)
			h.Kill()
			h.StartReady()
			h.awaitFenced("gpu-5=xid-95")
			h.Kill()
			// An administrator gives up on the agent's memory, and on its mark.
			h.Config.State.Path += "-anew"
			h.edit(`{"metadata":{"annotations":{"gpuhealthd.io/incident":null}}}`)
			h.Must(h.Sim.Recovery(h.GPU(5).UUID, 0))
			h.StartReady()
			daemontest.Await(t, "what was left behind is removed", func() bool { devices, _ := h.fenced(); return len(devices) == 0 })
		})
	}
}

// TestTheCordonStays where the fault reaches beyond the GPU, no driver lists it, or the
// agent has no right to fence.
func TestTheCordonStays(t *testing.T) {
	t.Run("the node", func(t *testing.T) {
		t.Parallel()
		h := allocated(t, shared.Cluster(t))
		h.lose(2)
		h.awaitContained()
		h.staysAsItIs()
		if devices, _ := h.fenced(); len(devices) > 0 {
			t.Errorf("fenced %v", devices)
		}
	})
	t.Run("no driver lists it", func(t *testing.T) {
		t.Parallel()
		h := onCluster(t, shared.Cluster(t))
		h.inService()
		h.sicken(2)
		h.awaitContained()
		h.awaitEvent("DeviceNotFenced")
		h.staysAsItIs()
	})
	t.Run("no right", func(t *testing.T) {
		t.Parallel()
		cluster := kubetest.Start(t)
		programs.Deploy(t, cluster)
		must(t, cluster.Apply(t.Context(), []byte(withoutRules)))
		h := allocated(t, cluster)
		kubetest.AwaitForbidden(t, "a rule for a device", func(ctx context.Context) error {
			r := &resourcev1.DeviceTaintRule{ObjectMeta: metav1.ObjectMeta{Name: "x"}, Spec: resourcev1.DeviceTaintRuleSpec{
				Taint: resourcev1.DeviceTaint{Key: "example.com/x", Effect: resourcev1.DeviceTaintEffectNone}}}
			_, err := h.admin.ResourceV1().DeviceTaintRules().Create(ctx, r, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
			return err
		})
		h.sicken(2)
		h.awaitContained()
		if e := h.awaitEvent("DeviceNotFenced"); !strings.Contains(e.Note, "forbidden") {
			t.Error(e.Note)
		}
	})
}

// withoutRules has a policy of the cluster's own refuse every rule for devices.
const withoutRules = `
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: no-rules}
spec:
  matchConstraints:
    resourceRules:
    - {apiGroups: [resource.k8s.io], apiVersions: ["*"], operations: [CREATE], resources: [devicetaintrules]}
  validations:
  - {expression: "false", reason: Forbidden, message: no rules here}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: no-rules}
spec: {policyName: no-rules, validationActions: [Deny]}
`

// TestAFenceThatAnAdministratorTakesAway is not made again for that incident.
func TestAFenceThatAnAdministratorTakesAway(t *testing.T) {
	t.Parallel()
	h := allocated(t, shared.Cluster(t))
	h.sicken(1)
	h.awaitFenced("gpu-1=xid-95")
	_, names := h.fenced()
	must(t, h.admin.ResourceV1().DeviceTaintRules().Delete(t.Context(), names[0], metav1.DeleteOptions{}))
	h.Kill() // the next one looks at once
	h.StartReady()
	h.awaitEvent("ClaimEnded")
	if devices, _ := h.fenced(); len(devices) > 0 || h.object().Spec.Unschedulable {
		t.Errorf("fenced %v again, cordoned %t", devices, h.object().Spec.Unschedulable)
	}
}

// TestAFenceThatSomebodyChanges fences nothing: that is told, the rule is made anew behind
// the cordon, and the node serves again.
func TestAFenceThatSomebodyChanges(t *testing.T) {
	t.Parallel()
	h := allocated(t, shared.Cluster(t))
	h.sicken(1)
	h.awaitFenced("gpu-1=xid-95")
	_, names := h.fenced()
	_, err := h.admin.ResourceV1().DeviceTaintRules().Patch(t.Context(), names[0], types.MergePatchType,
		[]byte(`{"spec":{"deviceSelector":{"device":"gpu-2"}}}`), metav1.PatchOptions{})
	must(t, err)
	h.Kill() // the next one looks at once
	h.StartReady()
	if e := h.awaitEvent("FenceChanged"); !strings.Contains(e.Note, "gpu-2") {
		t.Error(e.Note)
	}
	h.awaitFenced("gpu-1=xid-95")
}
