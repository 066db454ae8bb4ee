package nvlink

import (
	"strings"
	"testing"
)

// healthyMask has every field at its healthy code, by NVIDIA's header.
const healthyMask = 0x1aa

// TestHealthMask goes through every code of every field, with all other fields
// healthy: 1 is the fault in most fields, and what is correct in one.
func TestHealthMask(t *testing.T) {
	const bad, pending, detached, unknown, fine = "bad", "pending", "detached", "unknown", "fine"
	for _, field := range []struct {
		name         string
		shift, width int
		codes        []string
	}{
		{"degraded bandwidth", 0, 2, []string{fine, bad, fine, unknown}},
		{"route recovery", 2, 2, []string{fine, pending, fine, unknown}},
		{"route unhealthy", 4, 2, []string{fine, bad, fine, unknown}},
		{"access timeout recovery", 6, 2, []string{fine, pending, fine, unknown}},
		{"incorrect configuration", 8, 4, []string{fine, fine, bad, bad, bad, bad, bad, bad, bad, bad, bad, bad, bad, bad, bad, bad}},
		{"partition assigned", 12, 2, []string{fine, fine, fine, unknown}},
		{"global fabric manager", 14, 2, []string{fine, fine, detached, unknown}},
	} {
		if len(field.codes) != 1<<field.width {
			t.Fatalf("%s: %d codes of %d", field.name, len(field.codes), 1<<field.width)
		}
		for code, want := range field.codes {
			mask := uint32(healthyMask)&^(uint32(1<<field.width-1)<<field.shift) | uint32(code)<<field.shift
			h := DecodeHealth(mask)
			got := fine
			switch {
			case len(h.Faults()) > 0:
				got = bad
			case len(h.Pending()) > 0:
				got = pending
			case h.Unknown():
				got = unknown
			case h.Detached():
				got = detached
			}
			if got != want {
				t.Errorf("%s code %d (mask %#x): %s, want %s", field.name, code, mask, got, want)
			}
		}
	}
}

// TestHealthMasks has the masks that were seen in the field.
func TestHealthMasks(t *testing.T) {
	for mask, want := range map[uint32]string{
		0x1aa:  "",
		0xaa:   "", // every field 2, which is "no"
		0x80:   "", // only access timeout recovery is told, and is not going on
		0:      "", // nothing is told
		0x100:  "", // only that the configuration is correct
		0x10:   "route unhealthy",
		0x11aa: "",
		0x1a9:  "bandwidth degraded",
		0x5aa:  "incorrect configuration: too few NVLinks",
		0x9aa:  "incorrect configuration: code 9",
		0x411:  "bandwidth degraded, route unhealthy, incorrect configuration: no partition",
	} {
		if got := strings.Join(DecodeHealth(mask).Faults(), ", "); got != want {
			t.Errorf("%#x: %q, want %q", mask, got, want)
		}
	}
}

func TestStanding(t *testing.T) {
	num := func(n int) *int { return &n }
	mask := func(m uint32) *uint32 { return &m }
	ok := Fabric{Version: 3, State: FabricCompleted, Status: num(0), Mask: mask(healthyMask), Summary: num(1)}
	with := func(change func(*Fabric)) Fabric { f := ok; change(&f); return f }
	for _, tt := range []struct {
		name   string
		fabric Fabric
		member bool
		want   Standing
	}{
		{"good", ok, true, StandingGood},
		{"version 1", Fabric{Version: 1, State: FabricCompleted, Status: num(0)}, true, StandingGood},
		{"a driver without the summary", with(func(f *Fabric) { f.Summary = num(0) }), true, StandingGood},
		{"not supported, no member", Fabric{Version: 3}, false, StandingAbsent},
		{"not supported, in a rack", Fabric{Version: 3}, true, StandingBad},
		{"not started", Fabric{Version: 3, State: FabricNotStarted}, true, StandingPending},
		{"in progress", Fabric{Version: 3, State: FabricInProgress}, true, StandingPending},
		{"status", with(func(f *Fabric) { f.Status = num(999) }), true, StandingBad},
		{"unhealthy by summary alone", with(func(f *Fabric) { f.Summary = num(2) }), true, StandingBad},
		{"limited capacity", with(func(f *Fabric) { f.Summary = num(3) }), true, StandingDegraded},
		{"unknown summary", with(func(f *Fabric) { f.Summary = num(9) }), true, StandingUnknown},
		{"no fabric manager", with(func(f *Fabric) { f.Mask = mask(0x81aa) }), true, StandingDegraded},
		{"route recovery", with(func(f *Fabric) { f.Mask = mask(0x1a6) }), true, StandingPending},
		{"mask outranks summary", with(func(f *Fabric) { f.Mask = mask(0x19a) }), true, StandingBad},
	} {
		if got, why := tt.fabric.Standing(tt.member); got != tt.want || (why == "") != (got <= StandingAbsent) {
			t.Errorf("%s: %d %q, want %d", tt.name, got, why, tt.want)
		}
	}
}

// TestStandingTellsAll: a fault beside others, and beside what is being recovered, hides
// none of them.
func TestStandingTellsAll(t *testing.T) {
	status, mask, unhealthy := 0, uint32(0x155), 2
	_, why := Fabric{Version: 3, State: FabricCompleted, Status: &status, Mask: &mask, Summary: &unhealthy}.Standing(true)
	want := "fabric: bandwidth degraded, route unhealthy, health summary unhealthy, route recovery in progress, access timeout recovery in progress"
	if why != want {
		t.Errorf("%q, want %q", why, want)
	}
}

func TestMakeFabric(t *testing.T) {
	cluster := [16]byte{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}
	f, ok := MakeFabric(3, 3, 0, cluster, 7)
	if want := "01020304-0506-0708-090a-0b0c0d0e0f10.7"; !ok || f.Domain() != want || f.Status == nil {
		t.Errorf("%+v, domain %q, want %q", f, f.Domain(), want)
	}
	if f, _ := MakeFabric(3, 2, 999, [16]byte{}, 0); f.Status != nil || f.Domain() != "" {
		t.Errorf("in progress: %+v has a status or a domain", f)
	}
	if _, ok := MakeFabric(3, 4, 0, cluster, 0); ok {
		t.Error("a state that is not defined was taken")
	}
}

func TestText(t *testing.T) {
	for _, s := range []FabricState{FabricNotSupported, FabricNotStarted, FabricInProgress, FabricCompleted} {
		var back FabricState
		text, _ := s.MarshalText()
		if err := back.UnmarshalText(text); err != nil || back != s {
			t.Errorf("%s came back as %s: %v", s, back, err)
		}
	}
	var s State
	if err := s.UnmarshalText([]byte("broken")); err == nil {
		t.Error("a state that is none was read")
	}
}
