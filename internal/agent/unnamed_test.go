package agent

import (
	"strings"
	"testing"
	"testing/synctest"

	"github.com/gpuhealthd/gpuhealthd/collector/nvml"
)

// nameless makes GPU 5 one that has not told its name, in the state of g.
func nameless(g nvml.GPU) func(*nvml.GPU) {
	return only(5, func(to *nvml.GPU) { g.Index = to.Index; *to = g })
}

var (
	stuckFromTheStart = nvml.GPU{Stuck: "nvmlDeviceGetHandleByIndex"}
	failsFromTheStart = nvml.GPU{Error: &nvml.Error{Op: "nvmlDeviceGetHandleByIndex", Code: errUnknown, Text: "Unknown Error"}}
	notForUs          = nvml.GPU{Error: &nvml.Error{Op: "nvmlDeviceGetHandleByIndex", Code: errNoPermission, Text: "Insufficient Permissions"}}
)

// What a GPU that has never told who it is does from the agent's start on is a
// fault all the same: of the node, and of the GPU where only one can be meant. One
// that may still be initialised is given the grace.
func TestAGPUWithoutAName(t *testing.T) {
	for name, c := range map[string]struct {
		gpu   nvml.GPU
		known bool
		polls int // until it is judged
		want  string
	}{
		"hangs":        {stuckFromTheStart, false, int(grace/period) + 2, "driver-hung"},
		"hangs, known": {stuckFromTheStart, true, int(grace/period) + 2, "driver-hung"},
		"fails":        {failsFromTheStart, false, 2, "gpu-failed"},
		"fails, known": {failsFromTheStart, true, 2, "gpu-failed"},
		"not for us":   {notForUs, true, 40, ""},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newStage(t)
				s.start()
				if c.known {
					s.polls(2)
					s.stop()
					s.start()
				}
				s.report(nvml.HelloReport(nvml.Hello{}))
				s.polls(1, nameless(c.gpu))
				for n := range c.polls - 1 {
					if got := incidents(s); len(got) > 0 {
						t.Errorf("after %d polls: %q", n+1, got)
					}
					s.polls(1, nameless(c.gpu))
				}
				if got := strings.Join(incidents(s), " "); got != c.want || s.world.cordoned() != (c.want != "") {
					t.Errorf("judged %q, cordoned %v; want %q", got, s.world.cordoned(), c.want)
				}
				if c.want != "" && !t.Failed() {
					if why := s.Status().NotReady(); len(why) != 1 || s.Status().Driver.Up() {
						t.Errorf("not ready: %q", why)
					}
					v := s.Status().Incidents[0].Verdict
					if c.known != (len(v.GPUs) == 1 && v.GPUs[0].UUID == uuid(5)) {
						t.Errorf("of %v: %s", v.GPUs, v.Reason)
					}
				}
				s.stop()
			})
		})
	}
}

// A GPU that has answered, and does not tell a new child who it is, is not missed.
func TestANewChildAndASlowGPU(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		s.start()
		s.polls(2)
		s.report(nvml.HelloReport(nvml.Hello{}))
		s.polls(4, nameless(stuckFromTheStart))
		if got := incidents(s); len(got) > 0 {
			t.Errorf("judged %q", got)
		}
		s.stop()
	})
}
