package e2e

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/gpuhealthd/gpuhealthd/test/daemontest"
)

// TestKillRepeatsAndLosesNothing kills the daemon with SIGKILL at moments of an
// episode's opening.
func TestKillRepeatsAndLosesNothing(t *testing.T) {
	for _, moment := range []struct {
		name  string
		reach func(h *host)
	}{
		{"when the line is written", func(*host) {}},
		{"when the line is heard", func(h *host) { h.AwaitMetric(1, "kernel_events_total") }},
		{"when the Node is cordoned", func(h *host) {
			h.await("the Node is cordoned", func(n *corev1.Node) bool { return n.Spec.Unschedulable })
		}},
		{"when all is done and told", func(h *host) { h.awaitContained() }},
	} {
		t.Run(moment.name, func(t *testing.T) {
			t.Parallel()
			h := onCluster(t, shared.Cluster(t))
			h.inService()
			h.lose(5)
			moment.reach(h)
			h.Kill()
			before := h.object()
			h.StartReady()
			n := h.awaitContained()

			if got, want := noteOf(t, n).ID, fmt.Sprintf("%.8s-0", h.Status().BootID); got != want {
				t.Errorf("incident %s, want %s after boot and sequence of the line", got, want)
			}
			for _, reason := range []string{"FaultDetected", "NodeQuarantined", "RebootRequested"} {
				h.awaitEvent(reason)
			}
			if before.Spec.Unschedulable && h.Metric("kernel_events_total") > 0 {
				t.Error("the line was heard twice, and had been acted on already")
			}
			h.staysAsItIs()
		})
	}
}

// TestRestartOfAContainedNodeWritesNothing looks at the Node's versions across
// a restart in the middle of an incident.
func TestRestartOfAContainedNodeWritesNothing(t *testing.T) {
	t.Parallel()
	h := onCluster(t, shared.Cluster(t))
	h.inService()
	h.Say(daemontest.XID(h.GPU(1).PCI, daemontest.Uncontained))
	h.awaitContained()
	h.awaitEvent("DeviceNotFenced") // no driver lists it: that is told once
	seen := h.record()
	h.Kill()
	h.StartReady()
	h.staysAsItIs()
	for _, v := range h.versions(seen) {
		t.Errorf("version %s: labels %v, conditions %v", v.ResourceVersion, v.Labels, v.Status.Conditions)
	}
	if writes := h.writes(); writes > 0 {
		t.Errorf("%v writes after the restart", writes)
	}
}

// staysAsItIs fails the test when the Node changes within three polls.
func (h *host) staysAsItIs() {
	h.t.Helper()
	before, from := h.object(), h.Status().Driver.Answered
	daemontest.Await(h.t, "three polls have passed", func() bool {
		return h.Status().Driver.Answered.Sub(from) > 3*time.Second
	})
	if after := h.object(); after.ResourceVersion != before.ResourceVersion {
		h.t.Errorf("the Node still changes: version %s, then %s", before.ResourceVersion, after.ResourceVersion)
	}
}
