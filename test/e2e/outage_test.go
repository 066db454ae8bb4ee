package e2e

import (
	"testing"
	"time"

	"github.com/gpuhealthd/gpuhealthd/test/daemontest"
	"github.com/gpuhealthd/gpuhealthd/test/kubetest"
)

// outage is how long the API server is away.
const outage = 20 * time.Second

func TestAnOutageLosesNothing(t *testing.T) {
	t.Parallel()
	cluster := kubetest.Start(t)
	h := onCluster(t, cluster)
	h.inService()
	over := time.NewTimer(outage)
	cluster.StopAPIServer()

	h.lose(5)
	h.AwaitMetric(1, "verdicts_total", `fault="xid-79"`)
	h.AwaitMetric(1, "node_applies_total", `result="unreachable"`)
	h.sicken(2)
	h.AwaitMetric(1, "verdicts_total", `fault="xid-95"`)
	if h.Metric("intentions_waiting") == 0 {
		t.Error("no intention waits")
	}
	if code, body := h.Get("/healthz"); code != 200 || !h.Ready() {
		t.Errorf("an API server that is away made the daemon unhealthy: %s", body)
	}
	<-over.C
	if err := cluster.StartAPIServer(); err != nil {
		t.Fatal(err)
	}

	n := h.awaitContained()
	if got := noteOf(t, n); got.Fault != "xid-79" || n.Labels["gpuhealthd.io/gpus-healthy"] != "6" {
		t.Errorf("incident %+v, labels %v", got, n.Labels)
	}
	daemontest.Await(t, "both faults are told", func() bool { return len(h.events("FaultDetected")) == 2 })
	h.staysAsItIs()
}
