package kube

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gpuhealthd/gpuhealthd/test/golden"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/gpuhealthd/gpuhealthd/remediate"
)

// The public contract: what the Node in a real API server looks like for each
// state that it can be in.
func TestGolden(t *testing.T) {
	wishes := map[string]remediate.Desired{
		"healthy":     healthy(),
		"unknown":     blind(),
		"suspect":     suspect("5c1b4e0e-1201"),
		"quarantined": quarantined("5c1b4e0e-1201"),
		"kept":        kept("5c1b4e0e-1201"),
		"probation":   probation(),
		"failed":      failed(),
		"nvl72":       nvl72(),
		"diagnosed":   diagnosed(healthy()),
		"condemned":   diagnosed(failed()),
		"stranded":    stranded(),
	}
	for name, want := range wishes {
		t.Run(name, func(t *testing.T) {
			b := onNode(t, shared.Cluster(t))
			b.apply(t, want)
			got := public(t, b.object(t))
			path := filepath.Join("testdata", name+".yaml")
			golden.Check(t, path, string(got))
		})
	}
}

// public is our part of a Node, without what differs from run to run.
func public(t *testing.T, node *corev1.Node) []byte {
	t.Helper()
	shown := corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Labels: node.Labels, Annotations: node.Annotations},
		Spec:       corev1.NodeSpec{Unschedulable: node.Spec.Unschedulable},
	}
	for _, taint := range node.Spec.Taints {
		if strings.HasPrefix(taint.Key, remediate.Prefix) {
			shown.Spec.Taints = append(shown.Spec.Taints, taint)
		}
	}
	var conditions []map[string]string
	for _, c := range node.Status.Conditions {
		conditions = append(conditions, map[string]string{
			"type": string(c.Type), "status": string(c.Status), "reason": c.Reason, "message": c.Message,
		})
	}
	slices.SortFunc(conditions, func(a, b map[string]string) int { return strings.Compare(a["type"], b["type"]) })
	text, err := yaml.Marshal(map[string]any{
		"metadata": map[string]any{"labels": shown.Labels, "annotations": shown.Annotations},
		"spec":     shown.Spec,
		"status":   map[string]any{"conditions": conditions},
	})
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// blind is an agent that sees no GPU: nothing is counted, nothing is cordoned.
func blind() remediate.Desired {
	unknown := remediate.Condition{Status: "Unknown", Reason: "AgentBlind", Message: "the driver does not answer"}
	return remediate.Desired{State: remediate.Suspect, Fault: "agent-blind", GPU: unknown, NVLink: unknown}
}

func probation() remediate.Desired {
	want := quarantined("5c1b4e0e-1201")
	want.State, want.GPUsHealthy = remediate.Probation, number(8)
	want.Note.Step = "probation"
	want.GPU = remediate.Condition{Status: "False", Reason: "Probation", Message: "8 of 8 GPUs answer, on probation"}
	want.NVLink = remediate.Condition{Status: "True", Reason: "AllLinksUp", Message: "all links up"}
	return want
}

func failed() remediate.Desired {
	want := quarantined("5c1b4e0e-1201")
	want.State, want.Fault, want.Radius = remediate.Failed, "xid-64", "gpu"
	want.Note.Fault, want.Note.Radius, want.Note.Action, want.Note.Step = "xid-64", "gpu", "replace", "hold"
	want.GPU = remediate.Condition{Status: "False", Reason: "Xid64", Message: "row remap failed on GPU 0000:3b:00"}
	return want
}

// stranded is a node whose prefill workers keep KV cache for workers that are gone.
func stranded() remediate.Desired {
	want := healthy()
	want.Stranded = "1.50"
	return want
}

// nvl72 is a node of a rack whose switch tray has failed: it says so, and is
// not cordoned.
func nvl72() remediate.Desired {
	want := healthy()
	want.State, want.Fault, want.Radius = remediate.Suspect, "fabric-unhealthy", "domain"
	want.GPUsHealthy, want.Domain = number(4), "e1b4b8f53f3d"
	want.Summary = `{"down":[4,5]}`
	want.NVLink = remediate.Condition{Status: "False", Reason: "FabricUnhealthy", Message: "switch tray 3 does not answer"}
	return want
}
