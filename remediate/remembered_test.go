package remediate

import (
	"testing"
	"time"

	"github.com/gpuhealthd/gpuhealthd/fault"
)

// TestRemembered: after a restart the count of healthy GPUs and the links are
// what they were, until the driver has answered; a blind agent says neither.
func TestRemembered(t *testing.T) {
	now := time.Date(2026, 11, 30, 3, 0, 0, 0, time.UTC)
	p := NewPlan(Policy{Mode: Contain})
	p.Sources(now, Sources{Polled: true, GPUs: []fault.Device{{UUID: "GPU-1"}, {UUID: "GPU-2"}}, Links: fault.LinksGood})
	saved, err := p.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	p, err = RestorePlan(Policy{Mode: Contain}, saved, nil)
	if err != nil {
		t.Fatal(err)
	}
	p.met = true
	p.Sources(now, Sources{Links: fault.LinksGood})
	if d := p.Desired(); d.GPUsHealthy == nil || *d.GPUsHealthy != 2 || d.NVLink.Status != "True" {
		t.Errorf("after the restart: %v GPUs, %+v", d.GPUsHealthy, d.NVLink)
	}
	p.Sources(now, Sources{Blind: "gone", Links: fault.LinksGood})
	if d := p.Desired(); d.GPUsHealthy != nil || d.NVLink.Status != "Unknown" {
		t.Errorf("blind: %v GPUs, %+v", d.GPUsHealthy, d.NVLink)
	}
}
