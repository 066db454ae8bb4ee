package remediate

import (
	"slices"
	"testing"
	"time"

	"github.com/gpuhealthd/gpuhealthd/fault"
)

// TestStuck has who is to have no requests while his restart, or the drain of his GPU,
// waits: only where the agent would do it, and for what is known to be a stall.
func TestStuck(t *testing.T) {
	now := time.Date(2026, 11, 30, 3, 0, 0, 0, time.UTC)
	pod := []fault.Workload{{Name: "default/vllm-0", UID: "u1"}}
	gpu := []fault.Device{{UUID: "GPU-1"}}
	engine := fault.Verdict{ID: "b-1", Class: fault.StalledEngine, Action: fault.Restart, Workloads: pod, GPUs: gpu}
	with := func(v fault.Verdict, change func(*fault.Verdict)) fault.Verdict { change(&v); return v }
	ofGPU := with(engine, func(v *fault.Verdict) {
		v.Class, v.Action, v.Drain, v.Hardware = fault.StalledGPU, fault.Diag, fault.DrainNow, true
	})
	for name, c := range map[string]struct {
		policy func(*Policy)
		of     fault.Verdict
		want   []fault.Workload
	}{
		"an engine":               {func(*Policy) {}, engine, pod},
		"a GPU":                   {func(*Policy) {}, ofGPU, pod},
		"a doubtful one":          {func(*Policy) {}, with(engine, func(v *fault.Verdict) { v.Action = fault.Record }), nil},
		"a stale peer":            {func(*Policy) {}, with(engine, func(v *fault.Verdict) { v.Class = fault.StalePeer }), nil},
		"nobody restarts it":      {func(p *Policy) { p.Restart.Mode = MeansOff }, engine, nil},
		"nobody drains for a GPU": {func(p *Policy) { p.Drain.Mode = MeansOff }, ofGPU, nil},
		"in contain":              {func(p *Policy) { p.Mode = Contain }, engine, nil},
		"in observe":              {func(p *Policy) { p.Mode = Observe }, engine, nil},
	} {
		policy := DefaultRepair()
		c.policy(&policy)
		p := NewPlan(policy)
		p.Sources(now, Sources{Store: "the disk is full"}) // nothing can be begun
		p.Verdict(now, c.of)
		if got := p.Stuck(); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
		c.of.Closed, c.of.Action = true, fault.None
		p.Verdict(now, c.of)
		if got := p.Stuck(); len(got) > 0 {
			t.Errorf("%s, once it gets on: %v", name, got)
		}
	}
}
