package e2e

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/gpuhealthd/gpuhealthd/remediate"
	"github.com/gpuhealthd/gpuhealthd/test/daemontest"
	"github.com/gpuhealthd/gpuhealthd/test/process"
)

// BenchmarkRepair repairs one GPU after the other, each under a pod that ends as soon
// as it is told to. Nothing but the agent takes time then: the simulated reset is done
// at once. It tells how long after the fault the node is closed, the GPU drained and
// reset, and how many calls of the API an incident costs, its events included.
func BenchmarkRepair(b *testing.B) {
	h := inRepair(b)
	h.Config.Repair.Memory = shortest // each GPU comes again
	var works *process.Process
	h.kubelet.EndPods(b, h.admin, h.name, func(*corev1.Pod) { works.Kill() })
	h.edit(operands)
	h.inService()
	calls := h.Metric("api_request_seconds_count")
	var closed, drained, reset time.Duration
	var i remediate.Incident
	done := 0
	for b.Loop() {
		gpu, before := done%8, i.Verdict.ID
		_, works = h.serve(fmt.Sprintf("pod-%d", done), gpu)
		h.sicken(gpu)
		daemontest.Await(b, "the incident is over", func() bool {
			if over := h.Status().History; len(over) > 0 {
				i = over[len(over)-1]
			}
			return i.Verdict.ID != before
		})
		h.AwaitSettled()
		closed += since(i, remediate.StepCordon)
		drained += since(i, remediate.StepDrain)
		reset += since(i, remediate.StepReset)
		done++
	}
	each := func(sum time.Duration) float64 { return float64(sum.Milliseconds()) / float64(done) }
	b.ReportMetric(each(closed), "ms-to-closed")
	b.ReportMetric(each(drained), "ms-to-drained")
	b.ReportMetric(each(reset), "ms-to-reset")
	b.ReportMetric((h.Metric("api_request_seconds_count")-calls)/float64(done), "calls/op")
}

// since is how long after its fault a step of an incident was done.
func since(i remediate.Incident, kind remediate.StepKind) time.Duration {
	for _, s := range i.Steps {
		if s.Kind == kind && s.Status == remediate.Done {
			return s.Since.Sub(i.Verdict.Opened)
		}
	}
	return 0
}
