package e2e

import (
	"net/http"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gpuhealthd/gpuhealthd/fault"
	"github.com/gpuhealthd/gpuhealthd/test/daemontest"
)

// TestStalePeersAreRestartedInTurn: a prefill worker is killed. Its decode workers on
// two nodes hold handles of its memory, and answer nothing. They are left alone until it
// is ready again. Then each node's own agent restarts its own, the second once the one in
// the place of the first is ready.
func TestStalePeersAreRestartedInTurn(t *testing.T) {
	t.Parallel()
	g := newEnsemble(t)
	all := []*decoder{g.decode(true), g.decode(true)}
	g.ready(false)
	g.kill()
	for _, d := range all {
		d.asks(http.StatusInternalServerError)
		d.awaitLeft()
	}
	for _, d := range all {
		awaitPolls(t, d.Daemon, 3)
		d.stays()
	}
	g.ready(true)
	daemontest.Await(t, "one is restarted", func() bool { return all[0].pod() == nil || all[1].pod() == nil })
	first, second := all[0], all[1]
	if first.pod() != nil {
		first, second = second, first
	}
	daemontest.Await(t, "the other waits", second.held)
	second.stays()
	second.awaitLeft()

	first.serves(first.name + "-anew")
	second.again()
	second.stays()
	first.ready(true)
	second.awaitGone()
	second.serves(second.name + "-anew")
	second.ready(true)
	for _, d := range all {
		d.asks(http.StatusOK)
		daemontest.Await(t, "nothing is open any more", func() bool { return len(d.Status().Incidents) == 0 })
		d.awaitEvent("RestartStarted")
		d.awaitEvent("Restarted")
		if s := d.Status(); len(s.History) != 1 || s.History[0].Verdict.Class != fault.StalePeer || d.object().Spec.Unschedulable {
			t.Errorf("over are %+v", s.History)
		}
		if forbidden := d.Metric("api_request_seconds_count", `code="403"`); forbidden > 0 {
			t.Errorf("%.0f requests were forbidden", forbidden)
		}
	}
}

// again returns when the daemon has asked for its turn some more times.
func (d *decoder) again() {
	d.t.Helper()
	const asked = "api_request_seconds_count"
	labels := []string{`resource="leases"`, `verb="get"`}
	d.AwaitMetric(d.Metric(asked, labels...)+2, asked, labels...)
}

// TestStalePeersAreRecorded where the site does not want more: named, told and written
// onto the pod, which serves on.
func TestStalePeersAreRecorded(t *testing.T) {
	t.Parallel()
	g := newEnsemble(t)
	d := g.decode(false)
	g.kill()
	d.awaitLeft()
	d.awaitEvent("ApplicationFault")
	daemontest.Await(t, "an event on the pod", func() bool {
		events, err := g.admin.EventsV1().Events(g.name).List(t.Context(), metav1.ListOptions{FieldSelector: "reason=StalePeer,regarding.name=" + d.name})
		must(t, err)
		return len(events.Items) == 1
	})
	w := d.Status().Workers[0]
	if w.Stale == nil || w.Stale.Lost != g.name+"/prefill-0" || w.OnFailure != "fail" || d.Metric("serving_stale_peer") != 1 {
		t.Errorf("the worker is %+v", w)
	}
	d.AwaitSettled()
	d.stays()
	d.awaitDegraded(true)
	d.asks(http.StatusInternalServerError)

	// Its owner restarts it in its pod.
	d.engine.Restart()
	d.engine.AwaitUp()
	pod := d.pod()
	pod.Status.ContainerStatuses[0].RestartCount++
	g.status(pod)
	daemontest.Await(t, "the pod says so no more", func() bool { return d.pod().Annotations[stalePeer] == "" })
	d.awaitDegraded(false)
	d.asks(http.StatusOK)
}

// TestStalePeersSwitchedOff: what was written onto pods goes with the feature.
func TestStalePeersSwitchedOff(t *testing.T) {
	t.Parallel()
	g := newEnsemble(t)
	d := g.decode(false)
	g.kill()
	d.awaitLeft()
	d.awaitDegraded(true)
	d.Stop()
	d.Config.Serving.Disaggregated.Enabled = false
	d.StartReady()
	daemontest.Await(t, "the pod says so no more", func() bool { return d.pod().Annotations[stalePeer] == "" })
	d.awaitDegraded(false)
	daemontest.Await(t, "nothing is open any more", func() bool { return len(d.Status().Workers) == 0 })
	if forbidden := d.Metric("api_request_seconds_count", `code="403"`); forbidden > 0 {
		t.Errorf("%.0f requests were forbidden", forbidden)
	}
}

// TestAnAgentKilledInItsTurn: it has written down that its worker is restarted, and dies
// before that is done. The next one goes on; meanwhile the other waits.
func TestAnAgentKilledInItsTurn(t *testing.T) {
	t.Parallel()
	g := newEnsemble(t)
	first := g.decode(true)
	first.keeps()
	g.kill()
	first.AwaitMetric(1, "api_request_seconds_count", `resource="pods/eviction"`, `code="429"`)
	first.Kill()
	second := g.decode(true)
	// The second agent has seen the prefill worker in its present life only.
	second.asks(http.StatusOK)
	g.kill()
	daemontest.Await(t, "the second waits", second.held)
	second.again()
	second.stays()
	first.lets()
	first.StartReady()
	first.awaitGone()
	first.serves(first.name + "-anew")
	first.ready(true)
	second.lets()
	second.awaitGone()
}

// TestAPrefillWorkerIsLostWhileTheAgentIsAway: that is seen all the same.
func TestAPrefillWorkerIsLostWhileTheAgentIsAway(t *testing.T) {
	t.Parallel()
	g := newEnsemble(t)
	d := g.decode(false)
	d.Stop()
	g.kill()
	d.StartReady()
	d.awaitLeft()
}
