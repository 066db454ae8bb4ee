package serving

import (
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/rest"

	"github.com/gpuhealthd/gpuhealthd/remediate/holders"
	"github.com/gpuhealthd/gpuhealthd/serving"
)

// host is a node without pods, on which processes hold GPUs.
type host struct {
	*Serving

	looks int
	found holders.Found
}

func newHost(t *testing.T, o Options) *host {
	t.Helper()
	h := &host{}
	o.Period, o.Deadline, o.Dialects, o.Log = time.Second, time.Second, dialects(t), slog.New(slog.DiscardHandler)
	o.Processes = func() holders.Found { h.looks++; return h.found }
	s, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	s.local.work = func(pid int) (string, error) {
		if pid < 0 {
			return "", errors.New("ended")
		}
		return fmt.Sprintf("job %d", pid/100), nil
	}
	h.Serving = s
	return h
}

// look gives the jobs of a look after some time.
func (h *host) look(after time.Duration) []serving.Job {
	h.jobs = nil
	h.ofSite(&search{now: time.Date(2026, 11, 30, 0, 0, 0, 0, time.UTC).Add(after)})
	return h.jobs
}

// Who holds GPUs beside the engines is a job; services and an engine's other processes
// are none.
func TestJobsOfAHost(t *testing.T) {
	h := newHost(t, Options{Services: []string{"nv-hostengine"}, Engines: []Engine{
		{Name: "listed", URLs: []string{"http://a"}, GPUs: []string{"GPU-7"}},
		{Name: "found", URLs: []string{"http://b"}, Process: "VLLM::Worker"},
	}})
	h.found.Processes = []holders.Process{
		{PID: 100, Name: "VLLM::Worker", GPUs: []string{"GPU-0"}}, {PID: 101, Name: "VLLM::EngineCor", GPUs: []string{"GPU-0"}},
		{PID: 200, Name: "python3", GPUs: []string{"GPU-7"}},
		{PID: 300, Name: "nv-hostengine", GPUs: []string{"GPU-0", "GPU-1", "GPU-2"}},
		{PID: 400, Name: "a", GPUs: []string{"GPU-3"}}, {PID: 500, Name: "b", GPUs: []string{"GPU-5"}},
		{PID: 501, Name: "c", GPUs: []string{"GPU-4", "GPU-5"}}, {PID: -1, Name: "d", GPUs: []string{"GPU-6"}},
	}
	want := []serving.Job{{Name: "job 5", GPUs: []string{"GPU-4", "GPU-5"}}, {Name: "job 4", GPUs: []string{"GPU-3"}}}
	if diff := cmp.Diff(want, h.look(0)); diff != "" {
		t.Error(diff)
	}
	for n := range 2 * maxJobs {
		h.found.Processes = append(h.found.Processes, holders.Process{PID: 1000 + 100*n, Name: "x", GPUs: []string{"GPU-6"}})
	}
	if jobs := h.look(lookEvery); len(jobs) != maxJobs || jobs[0].Name != "job 5" {
		t.Errorf("%d jobs, %v", len(jobs), jobs[0])
	}
}

// Without an engine that is known by its process a look once a minute does; one that
// has come to nothing leaves the jobs as they were, and one that finds nobody ends them.
func TestJobsAreLookedForSeldom(t *testing.T) {
	h := newHost(t, Options{})
	h.found.Processes = []holders.Process{{PID: 400, Name: "a", GPUs: []string{"GPU-0"}}}
	has := func(after time.Duration, looks, jobs int) {
		t.Helper()
		if found := h.look(after); len(found) != jobs || h.looks != looks {
			t.Errorf("after %s: %d jobs by %d looks, want %d by %d", after, len(found), h.looks, jobs, looks)
		}
	}
	has(0, 1, 1)
	has(lookSeldom-1, 1, 1)
	h.found = holders.Found{Unknown: "no /proc"}
	has(lookSeldom, 2, 1)
	has(lookSeldom+1, 2, 1)
	h.found = holders.Found{}
	has(2*lookSeldom, 3, 0)
}

// Where pods are followed they alone are jobs, and nobody looks at processes.
func TestNoJobsBesidePods(t *testing.T) {
	h := newHost(t, Options{})
	h.options.Config = &rest.Config{}
	h.found.Processes = []holders.Process{{PID: 400, Name: "a", GPUs: []string{"GPU-0"}}}
	if jobs := h.look(0); len(jobs) != 0 || h.looks != 0 {
		t.Errorf("%v, %d looks", jobs, h.looks)
	}
}
