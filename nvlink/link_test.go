package nvlink

import (
	"math"
	"testing"
)

func TestBER(t *testing.T) {
	for packed, want := range map[uint64]float64{
		0x000: 0, 0x100: 1, 0x10c: 1e-12, 0xf0f: 15e-15, 0x50e: 5e-14, 0xfff: 15e-255, 0x0ff: 0,
	} {
		if got, ok := BER(packed); !ok || math.Abs(got-want) > want*1e-9 {
			t.Errorf("%#x: %g, %t, want %g", packed, got, ok, want)
		}
	}
	for _, packed := range []uint64{0x1000, 0xf00, 0x200, math.MaxUint64} {
		if got, ok := BER(packed); ok {
			t.Errorf("%#x was read as %g", packed, got)
		}
	}
}

func TestGeneration(t *testing.T) {
	for version, want := range map[uint32]int{0: 0, 1: 1, 3: 2, 5: 3, 6: 4, 7: 5, 8: 6, 255: 0} {
		if got := Generation(version); got != want {
			t.Errorf("version %d: generation %d, want %d", version, got, want)
		}
	}
}

func TestStates(t *testing.T) {
	r := Reading{Links: []Link{{State: Active}, {State: Sleep}, {State: Inactive}, {State: Disabled}, {}}}
	if r.Up() != 2 {
		t.Errorf("%d links up, want the active one and the sleeping one", r.Up())
	}
	if StateUnknown.Up() || StateUnknown.Down() || Sleep.Down() || !Disabled.Down() {
		t.Error("unknown is neither up nor down, sleep is no fault, disabled is")
	}
}

func TestCounters(t *testing.T) {
	one, two := uint64(1), uint64(2)
	if n, known := (Packets{Malformed: &one, Discarded: &two}).Errors(); n != 3 || !known {
		t.Errorf("%d, %t", n, known)
	}
	if _, known := (Packets{}).Errors(); known {
		t.Error("nothing is known, and nothing is not 0")
	}
	for want, c := range map[int]Counters{-1: {}, 0: {FEC: []uint64{9, 0}}, 2: {FEC: []uint64{9, 1, 1, 0}}} {
		if got := c.FECDepth(); got != want {
			t.Errorf("%v: depth %d, want %d", c.FEC, got, want)
		}
	}
}

func TestNumbers(t *testing.T) {
	if got := Numbers([]int{0, 1, 2, 5, 7, 8}); got != "0-2, 5, 7-8" {
		t.Errorf("%q", got)
	}
}

func TestAddress(t *testing.T) {
	var a Address
	if err := a.UnmarshalText([]byte("0018:01:1f")); err != nil || a.String() != "0018:01:1f" {
		t.Errorf("%s: %v", a, err)
	}
	for _, text := range []string{"", "1:2", "x:1:2", "0000:100:0", "0:1:2:3"} {
		if err := a.UnmarshalText([]byte(text)); err == nil {
			t.Errorf("%q was read as %s", text, a)
		}
	}
}
