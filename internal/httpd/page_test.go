package httpd

import (
	"strings"
	"testing"
	"time"

	"github.com/gpuhealthd/gpuhealthd/fault"
	"github.com/gpuhealthd/gpuhealthd/internal/agent"
	"github.com/gpuhealthd/gpuhealthd/remediate"
	"github.com/gpuhealthd/gpuhealthd/serving"
)

// The page shows the node, its incidents and its replicas; what others have named is
// text there, whatever it looks like.
func TestThePage(t *testing.T) {
	half := 0.5
	s := well
	s.Node = &remediate.Desired{State: remediate.Suspect}
	s.Incidents = []remediate.Incident{{Verdict: fault.Verdict{ID: "b-1", Class: fault.StalledEngine, Reason: "its GPUs are quiet"}, State: remediate.Suspect}}
	s.Serving = &agent.ServingStatus{
		Replicas: []serving.Score{{Replica: serving.Replica{Name: "default/a"}, Model: "<script>", State: serving.Stalled, Value: &half, Parts: map[serving.Part]float64{serving.PartGPU: 0.5}},
			{Replica: serving.Replica{Name: "default/c"}, State: serving.Well}},
		Trials: []serving.Trial{{Replica: serving.Replica{Name: "default/c"}, Held: true, Why: "the canary's request: cut, <b>"}, {Replica: serving.Replica{Name: "default/passed"}, Over: time.Now()}},
		Faults: []agent.WorkloadFault{{Workload: "train/0", Fault: fault.WedgedJob, Action: fault.Record, Reason: "busy"}},
		Fleet:  "nobody answers", Unasked: []agent.Unasked{{Replica: "default/b", Endpoint: "http://b", Why: "refused"}},
	}
	page := answer(t, fixed{status: s}, "GET", "/").Body.String()
	for _, want := range []string{"Node: suspect", `href="/api/v1/events/b-1"`, "stalled-engine", "its GPUs are quiet", "<td>default/a</td>",
		"&lt;script&gt;", "<td>stalled</td>", "<td>0.500</td>", "gpu 0.50", "<td>-</td>", "train/0: wedged-job, record: busy", "nobody answers", "default/b, http://b: refused",
		"<td>held</td>", "default/c gets no requests yet: the canary&#39;s request: cut, &lt;b&gt;"} {
		if !strings.Contains(page, want) {
			t.Errorf("no %q on the page", want)
		}
	}
	for _, none := range []string{"<script>", "/debug/pprof", "default/passed"} {
		if strings.Contains(page, none) {
			t.Errorf("%q is on the page", none)
		}
	}
	if page = answer(t, fixed{}, "GET", "/").Body.String(); !strings.Contains(page, "Node: not known yet") || strings.Contains(page, "<table>") {
		t.Errorf("of an agent that knows nothing yet: %s", page)
	}
}
