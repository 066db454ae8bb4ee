package e2e

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/gpuhealthd/gpuhealthd/fault"
	"github.com/gpuhealthd/gpuhealthd/remediate"
	"github.com/gpuhealthd/gpuhealthd/remediate/guard"
	"github.com/gpuhealthd/gpuhealthd/test/daemontest"
)

// grouped prepares a daemon whose guards are on, in a group of nodes with one name.
func grouped(t *testing.T, group string) *host {
	t.Helper()
	h := onCluster(t, shared.Cluster(t))
	h.edit(`{"metadata":{"labels":{"example.com/pool":"` + group + `"}}}`)
	h.Config.Guards.Enabled, h.Config.Guards.Group = true, "example.com/pool"
	h.Config.Guards.Ramp.Every = 0
	h.inService()
	return h
}

// TestOneNodeOfAGroupIsOutAtATime: a soft fault takes a node out of service by the
// group's leave alone. The next one waits, says so, and goes on once the first is back.
func TestOneNodeOfAGroupIsOutAtATime(t *testing.T) {
	t.Parallel()
	first, second := grouped(t, "one-at-a-time"), grouped(t, "one-at-a-time")
	first.Must(first.Sim.Recovery(first.GPU(3).UUID, 1))
	if mark := first.awaitContained().Annotations["gpuhealthd.io/incident"]; !strings.Contains(mark, `"leave":true`) {
		t.Errorf("the mark says nothing of the group's leave: %s", mark)
	}

	second.Must(second.Sim.Recovery(second.GPU(3).UUID, 1))
	daemontest.Await(t, "the budget holds the second", func() bool {
		i, open := openIncident(second.Status(), fault.RecoveryAction, second.GPU(3).UUID)
		return open && slices.ContainsFunc(i.Held, func(h remediate.HeldAction) bool {
			return h.Action == guard.Cordon && h.Guard == guard.Budget
		})
	})
	second.awaitEvent("ActionHeld")
	if n := second.object(); n.Spec.Unschedulable || n.Labels["gpuhealthd.io/state"] != "suspect" {
		t.Errorf("cordoned %t, labels %v", n.Spec.Unschedulable, n.Labels)
	}

	first.Must(first.Sim.Recovery(first.GPU(3).UUID, 0))
	first.await("the first is back", func(n *corev1.Node) bool { return !n.Spec.Unschedulable && quarantine(n) == nil })
	second.awaitContained()
}
