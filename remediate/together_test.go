package remediate

import (
	"testing"
	"time"

	"github.com/gpuhealthd/gpuhealthd/fault"
	"github.com/gpuhealthd/gpuhealthd/xidparse"
)

// TestADrainIsNotNarrowedUnseen: what a reset takes along is not known to an agent that
// comes back before the driver has answered. The drain of before goes on as it was, until
// it is.
func TestADrainIsNotNarrowedUnseen(t *testing.T) {
	now := time.Date(2026, 11, 30, 3, 0, 0, 0, time.UTC)
	faulty := fault.Device{UUID: "GPU-1", PCI: xidparse.PCI{Bus: 0x3b}}
	all := []fault.Device{faulty, {UUID: "GPU-2", PCI: xidparse.PCI{Bus: 0x4b}}}
	policy := DefaultRepair()
	policy.Reset.Mode = MeansCommand
	p := NewPlan(policy)
	p.Sources(now, Sources{Polled: true, GPUs: all, Together: [][]fault.Device{all}})
	p.Verdict(now, fault.Verdict{ID: "b-1", Class: "xid-95", Action: fault.Reset, Hard: true, Hardware: true, Drain: fault.DrainNow, GPUs: all[:1], Affected: all[:1]})
	p.Node(now, Settle(p.Desired(), Observed{Exists: true, UID: "u"}))
	before := p.Deed()
	if before == nil || len(before.GPUs) != 2 {
		t.Fatalf("the drain is %+v, want of both GPUs", before)
	}
	data, err := p.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	for _, then := range []struct {
		together [][]fault.Device
		gpus     int
	}{{[][]fault.Device{all}, 2}, {nil, 1}} {
		if p, err = RestorePlan(policy, data, nil); err != nil {
			t.Fatal(err)
		}
		p.Tick(now.Add(time.Second))
		if d := p.Deed(); d == nil || d.ID != before.ID || len(d.GPUs) != 2 {
			t.Errorf("before the driver has answered it is %+v", d)
		}
		p.Sources(now, Sources{Polled: true, GPUs: all, Together: then.together})
		p.Tick(now.Add(2 * time.Second))
		if d := p.Deed(); d == nil || len(d.GPUs) != then.gpus {
			t.Errorf("once %v are known to go together it is %+v", then.together, d)
		}
	}
}
