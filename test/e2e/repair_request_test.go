package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/gpuhealthd/gpuhealthd/remediate"
	"github.com/gpuhealthd/gpuhealthd/test/daemontest"
)

// asked is the request annotation as the public contract has it.
type asked struct {
	ID, Kind string
	GPUs     []struct{ PCI, UUID string }
}

// awaitAsked returns what is asked for by annotation.
func (h *repairHost) awaitAsked() (a asked) {
	h.t.Helper()
	n := h.await("a reset is asked for", func(n *corev1.Node) bool { return n.Annotations["gpuhealthd.io/request"] != "" })
	must(h.t, json.Unmarshal([]byte(n.Annotations["gpuhealthd.io/request"]), &a))
	return a
}

// answer says that what was asked for is done.
func (h *repairHost) answer(a asked) {
	h.t.Helper()
	text, err := json.Marshal(map[string]string{"id": a.ID, "result": "succeeded", "text": "done by hand"})
	must(h.t, err)
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": map[string]string{"gpuhealthd.io/response": string(text)}}})
	must(h.t, err)
	h.edit(string(patch))
}

// TestAResetByAnnotation: the test is who watches the Node, resets and answers. The
// daemon may die meanwhile: the next one asks for the same thing, and hears the answer.
func TestAResetByAnnotation(t *testing.T) {
	for name, meanwhile := range map[string]func(h *repairHost){
		"nothing happens meanwhile": func(*repairHost) {},
		"the daemon is killed":      func(h *repairHost) { h.Kill(); h.Start() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := inRepair(t)
			h.Config.Repair.Reset.Mode = remediate.MeansAnnotation
			h.inService()
			h.sicken(2)
			a := h.awaitAsked()
			if g := h.GPU(2); a.Kind != "reset" || len(a.GPUs) != 1 || a.GPUs[0].UUID != g.UUID || a.GPUs[0].PCI != g.PCI {
				t.Errorf("asked for %+v", a)
			}
			if holders, err := h.Sim.Holders(h.GPU(2).UUID); err != nil || len(holders) > 0 {
				t.Errorf("asked for while processes %v have the GPU open, %v", holders, err)
			}
			meanwhile(h)
			h.heal(2)
			h.answer(a)
			h.answered()
		})
	}
}

// answered fails the test unless the node comes back by a reset of somebody else's,
// and nothing is left of the request.
func (h *repairHost) answered() {
	h.t.Helper()
	n := h.awaitBack()
	for _, key := range []string{"request", "response"} {
		if text, ok := n.Annotations["gpuhealthd.io/"+key]; ok {
			h.t.Errorf("the annotation %s is left: %s", key, text)
		}
	}
	h.awaitEvent("ResetDone")
	if len(h.resets()) > 0 {
		h.t.Errorf("the agent has reset %v itself", h.resets())
	}
}

// janitor is what docs/repair.md has a site allow for the kinds of its operator.
const janitor = `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: gpuhealthd-requests}
rules:
- apiGroups: [janitor.dgxc.nvidia.com]
  resources: [gpuresets, rebootnodes]
  verbs: [get, create, delete]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: gpuhealthd-requests}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: gpuhealthd-requests}
subjects:
- {kind: ServiceAccount, name: gpuhealthd, namespace: gpuhealthd}
`

// TestAResetByResource: the shipped example, and the test is the operator.
func TestAResetByResource(t *testing.T) {
	t.Parallel()
	cluster := shared.Cluster(t)
	kinds, err := os.ReadFile("../../remediate/request/testdata/crds.yaml")
	must(t, err)
	must(t, cluster.Apply(t.Context(), kinds))
	must(t, cluster.Apply(t.Context(), []byte(janitor)))
	kind := schema.GroupVersionResource{Group: "janitor.dgxc.nvidia.com", Version: "v1alpha1", Resource: "gpuresets"}
	cluster.AwaitAllowed(t, daemontest.Account(), authorizationv1.ResourceAttributes{Verb: "create", Group: kind.Group, Resource: kind.Resource})
	resets := dynamic.NewForConfigOrDie(cluster.Admin()).Resource(kind)
	h := inRepair(t)
	example, err := filepath.Abs("../../deploy/examples/reset-nvsentinel.yaml")
	must(t, err)
	h.Config.Repair.Reset.Mode, h.Config.Repair.Reset.Resource = remediate.MeansResource, example
	h.inService()
	h.sicken(2)

	var asked unstructured.Unstructured
	daemontest.Await(t, "a GPUReset is there", func() bool {
		list, err := resets.List(t.Context(), metav1.ListOptions{})
		for n := range list.Items { // it is of this node, or another test's run
			if name, _, _ := unstructured.NestedString(list.Items[n].Object, "spec", "nodeName"); name == h.name {
				asked = list.Items[n]
			}
		}
		return err == nil && asked.Object != nil
	})
	uuids, _, err := unstructured.NestedStringSlice(asked.Object, "spec", "selector", "uuids")
	if err != nil || len(uuids) != 1 || uuids[0] != h.GPU(2).UUID {
		t.Errorf("asked for a reset of %v, %v", uuids, err)
	}
	h.heal(2)
	_, err = resets.Patch(t.Context(), asked.GetName(), types.MergePatchType, []byte(`{"status":{"phase":"Succeeded"}}`), metav1.PatchOptions{}, "status")
	must(t, err)
	h.answered()
	daemontest.Await(t, "the GPUReset is gone", func() bool {
		_, err := resets.Get(t.Context(), asked.GetName(), metav1.GetOptions{})
		return err != nil
	})
}
