package ecc

import "testing"

func TestSoft(t *testing.T) {
	for _, c := range []struct {
		name string
		seen Report
		soft bool
	}{
		{"alone, nobody says contained", DoubleBit, false},
		{"a row is marked", DoubleBit | RemapPending, true},
		{"contained", DoubleBit | Contained, true},
		{"contained, then uncontained", DoubleBit | Contained | Uncontained, false},
		{"no row left", DoubleBit | RemapPending | RemapFailed, false},
		{"in the chip itself", DoubleBit | Contained | SRAM, false},
		{"in the framebuffer, contained", DoubleBit | Contained | DRAM, true},
		{"nothing seen", 0, false},
	} {
		if got := (Memory{}).Add(c.seen).Soft(); got != c.soft {
			t.Errorf("%s: soft = %v, want %v", c.name, got, c.soft)
		}
	}
}

func TestMemoryKeepsWhatItIsGiven(t *testing.T) {
	m := Memory{}.Add(DoubleBit).Merge(Memory{}.Add(SRAM))
	if !m.Has(DoubleBit|SRAM) || m.Has(Contained) {
		t.Errorf("merged %b", m.Bits())
	}
	if back := FromBits(m.Bits()); back != m {
		t.Errorf("read back %b, want %b", back.Bits(), m.Bits())
	}
}
