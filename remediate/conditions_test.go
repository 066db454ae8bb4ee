package remediate

import (
	"testing"
	"time"

	"github.com/gpuhealthd/gpuhealthd/fault"
)

// TestConditionsOfLinks: what the Node says of its NVLinks, and of its GPUs beside
// that, by the incidents that are open.
func TestConditionsOfLinks(t *testing.T) {
	now := time.Date(2026, 11, 30, 3, 0, 0, 0, time.UTC)
	a, b := device(t, "0000:3b:00@A"), device(t, "0000:4b:00@B")
	const (
		none = "no fault that takes a GPU out of service"
		ours = none + " but those of its NVLinks, which NVLinkHealthy tells"
	)
	of := func(id string, c fault.Class, action fault.Action, d fault.Device) fault.Verdict {
		return fault.Verdict{ID: id, Class: c, Action: action, GPUs: []fault.Device{d}, Hardware: true, Opened: now}
	}
	watched := func(v fault.Verdict) fault.Verdict { v.Watched = true; return v }
	for _, tt := range []struct {
		name     string
		verdicts []fault.Verdict
		nvlink   Condition
		gpu      string
	}{
		{"nothing", nil, Condition{"True", "LinksUp", "every NVLink that should be up is"}, none},
		{"two GPUs", []fault.Verdict{of("1", fault.LinksDown, fault.Cordon, b), of("2", fault.LinksDown, fault.Cordon, a)},
			Condition{"False", "LinksDown", "A (0000:3b:00), B (0000:4b:00) incidents 1, 2"}, ours},
		{"an echo", []fault.Verdict{of("1", fault.XIDClass(145), fault.Record, a)},
			Condition{"True", "LinksUp", "every NVLink that should be up is; recorded: xid-145 (incident 1)"}, none},
		{"a link that fares worse", []fault.Verdict{of("1", fault.NVLinkDegrading, fault.Record, a)},
			Condition{"True", "LinksUp", "every NVLink that should be up is; recorded: nvlink-degrading (incident 1)"}, none},
		{"up again, and held", []fault.Verdict{watched(of("1", fault.LinksDown, fault.Hold, a))},
			Condition{"Unknown", "LinksSettling", "NVLinks are up again, and watched: links-down (incident 1)"}, none},
		{"up again, and out of service", []fault.Verdict{watched(of("1", fault.LinksDown, fault.Cordon, a))},
			Condition{"Unknown", "LinksSettling", "NVLinks are up again, and watched: links-down (incident 1)"}, ours},
		{"one is up again", []fault.Verdict{watched(of("1", fault.LinksDown, fault.Hold, a)), of("2", fault.LinksDown, fault.Hold, b)},
			Condition{"False", "LinksDown", "B (0000:4b:00) incident 2"}, none},
	} {
		p := NewPlan(Policy{Mode: Contain})
		p.Node(now, Observed{Exists: true, UID: "uid-1"})
		p.Sources(now, Sources{Polled: true, GPUs: []fault.Device{a, b}, Links: fault.LinksGood})
		for _, v := range tt.verdicts {
			p.Verdict(now, v)
		}
		if d := p.Desired(); d.NVLink != tt.nvlink || d.GPU.Message != tt.gpu || d.GPU.Status != "True" {
			t.Errorf("%s: %+v, want %+v; %+v, want %q", tt.name, d.NVLink, tt.nvlink, d.GPU, tt.gpu)
		}
	}
}
