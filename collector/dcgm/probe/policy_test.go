package probe

import (
	"testing"

	"github.com/gpuhealthd/gpuhealthd/collector/dcgm"
)

func TestViolations(t *testing.T) {
	n := newNode(t)
	must(t, n.DCGM().XID("1", 31)) // before anybody listens
	c := start(t, n)
	c.kind(dcgm.KindHealth)
	tests := []struct {
		condition dcgm.Condition
		value     int
		heard     bool
	}{
		{dcgm.XIDPolicy, 13, true}, // unknown to health checks
		{dcgm.DoubleBit, 2, true},
		{dcgm.PCIe, 40, true},
		{dcgm.RetiredPages, 61, true},
		{dcgm.Thermal, 88, false}, // below the policy's 100 degrees
		{dcgm.Thermal, 104, true},
		{dcgm.Power, 600, false}, // what an H100 needs: above go-dcgm's default of 250 W
		{dcgm.Power, 900, true},
		{dcgm.NVLink, 7, true},
	}
	for _, tt := range tests {
		must(t, n.DCGM().Violation("4", string(tt.condition), tt.value))
		if !tt.heard {
			continue // then the next that is heard shows that this one was not
		}
		v := c.kind(dcgm.KindViolation).Violation
		if v.Condition != tt.condition || v.Value != tt.value || v.UUID != uuid(t, n, 4) || v.At.IsZero() {
			t.Errorf("%+v, want %s of %d on GPU 4", v, tt.condition, tt.value)
		}
		if (v.Field == 409) != (tt.condition == dcgm.NVLink) {
			t.Errorf("%+v, want a field for NVLink alone", v)
		}
	}
}

// A violation is said while a health check hangs.
func TestViolationBesideHungCall(t *testing.T) {
	n := newNode(t)
	c := start(t, n)
	c.kind(dcgm.KindHealth)
	must(t, n.DCGM().Stop())
	c.kind(dcgm.KindHung)
	must(t, n.DCGM().XID("4", 79))
	if v := c.kind(dcgm.KindViolation).Violation; v.Value != 79 {
		t.Errorf("%+v, want XID 79", v)
	}
}

// An engine that refuses to listen is one without violations.
func TestPolicyRefused(t *testing.T) {
	n := newNode(t)
	must(t, n.DCGM().Fail("dcgmPolicyRegister_v2", -6))
	c := start(t, n)
	if f := c.kind(dcgm.KindFailed).Failed; f.Op != "dcgmPolicyRegister" || f.Code != -6 {
		t.Errorf("%+v, want -6", f)
	}
	c.kind(dcgm.KindHealth)
}
