package agent

import (
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/gpuhealthd/gpuhealthd/remediate"
	"github.com/gpuhealthd/gpuhealthd/remediate/fleet"
	"github.com/gpuhealthd/gpuhealthd/remediate/guard"
)

// What is guarded is told on a quiet node too, and what is fenced in vain.
func TestGuardsTellWhetherTheyLook(t *testing.T) {
	for name, c := range map[string]struct {
		status  Status
		guarded float64
	}{
		"no contract":           {Status{Capacity: "there is no contract"}, 0},
		"nobody has asked yet":  {Status{}, 1},
		"known":                 {Status{Group: &fleet.Survey{Load: &guard.Load{PerNode: 1, Serving: 1}}}, 1},
		"not known":             {Status{Group: &fleet.Survey{Load: &guard.Load{Unknown: "no answer"}}}, 0},
		"a node of another one": {Status{Group: &fleet.Survey{}}, 0},
	} {
		c.status.Fences = []remediate.Fence{{Rules: []string{"a"}}, {Rules: []string{"b"}, Ends: true, Stays: "forbidden"}}
		reg := prometheus.NewRegistry()
		reg.MustRegister(newGuards(func() Status { return c.status }))
		all, err := reg.Gather()
		if err != nil {
			t.Fatal(err)
		}
		want := map[string]float64{"gpuhealthd_capacity_guarded": c.guarded, "gpuhealthd_fenced_devices": 2, "gpuhealthd_fences_left": 1}
		for _, f := range all {
			if v, told := want[f.GetName()]; told {
				delete(want, f.GetName())
				if got := f.Metric[0].Gauge.GetValue(); got != v {
					t.Errorf("%s: %s is %v, want %v", name, f.GetName(), got, v)
				}
			}
		}
		if len(want) > 0 {
			t.Errorf("%s: not told: %v", name, want)
		}
	}
}
