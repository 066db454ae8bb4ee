package e2e

import (
	"testing"

	"github.com/gpuhealthd/gpuhealthd/test/daemontest"
)

// flood is how many lines a broken GPU prints here. The largest log that is
// known had 800,000.
const flood = 20_000

// memoryLimit is what deploy/ allows the daemon and its child together.
const memoryLimit = 128 << 20

func TestAFloodIsOneIncident(t *testing.T) {
	t.Parallel()
	h := onCluster(t, shared.Cluster(t))
	h.inService()
	seen := h.record()
	line := daemontest.XID(h.GPU(2).PCI, daemontest.Uncontained)
	for range flood {
		h.Say(line)
	}
	h.AwaitMetric(flood, "kernel_events_total", `code="95"`)
	h.awaitContained()
	h.awaitEvent("FaultDetected")

	if heard := h.Metric("kernel_events_total"); heard != flood {
		t.Errorf("%v lines were heard", heard)
	}
	if lost := h.Metric("kernel_log_lost_records_total"); lost != 0 {
		t.Errorf("%v records were lost", lost)
	}
	incidents := h.Status().Incidents
	if len(incidents) != 1 || incidents[0].Verdict.Count != flood {
		t.Errorf("incidents %+v", incidents)
	}
	if n := len(h.versions(seen)); n > 2 {
		t.Errorf("the Node was written %d times", n)
	}
	peak := 0
	for _, bytes := range h.PeakMemory() {
		peak += bytes
	}
	if peak > memoryLimit {
		t.Errorf("peak memory was %d MiB", peak>>20)
	}
}
