package nvlink

import (
	"strings"
	"testing"
)

func TestTriage(t *testing.T) {
	tests := []struct {
		name   string
		regs   [7]uint32
		result Result74
		times  int
		reason string
	}{
		{"no registers", [7]uint32{}, Unknown, 1, "no register"},
		{"ignore", [7]uint32{1}, Ignore, 0, "register 1 bit 0"},
		{"sympathetic", [7]uint32{1 << 20}, Sympathetic, 0, "register 1 bit 20"},
		{"ECC on the third", [7]uint32{1 << 4}, Repeat, 3, "register 1 bit 4"},
		{"diagnostics on the second", [7]uint32{0, 0, 0x10000}, Repeat, 2, "register 3 bit 16"},
		{"marginal signal", [7]uint32{1 << 21}, SignalIntegrity, 1, "register 1 bit 21"},
		{"hardware", [7]uint32{0x10000}, Hardware, 1, "register 1 bit 16"},
		{"unexpected", [7]uint32{0, 0, 1 << 13}, Hardware, 1, "register 3 bit 13"},
		{"fabric reset", [7]uint32{0, 0, 0, 1 << 18}, FabricReset, 1, "register 4 bit 18"},
		{"corrected threshold", [7]uint32{0, 0, 0, 0, 1 << 29}, Ignore, 0, "register 5 bit 29"},
		{"undefined registers say nothing", [7]uint32{1, 1 << 16, 0, 0, 0, 1 << 16, 1 << 16}, Ignore, 0, "register 1 bit 0"},
		{"only undefined registers", [7]uint32{0, 7}, Unknown, 1, "no register"},
		{"bit without meaning", [7]uint32{1 << 31}, Unknown, 1, "register 1 bit 31"},
		{"unknown outranks ignore", [7]uint32{1 | 1<<31}, Unknown, 1, "register 1 bit 31"},
		{"strongest wins", [7]uint32{1<<4 | 1<<21, 0, 0, 1 << 18}, FabricReset, 1, "register 4 bit 18"},
		{"earlier repeat wins", [7]uint32{1<<4 | 1<<29}, Repeat, 2, "register 1 bit 29"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := Triage(tt.regs)
			if got.Result != tt.result || got.Times != tt.times || !strings.Contains(got.Reason, tt.reason) {
				t.Errorf("Triage(%#x) = %v, %d, %q; want %v, %d, …%q…", tt.regs, got.Result, got.Times, got.Reason, tt.result, tt.times, tt.reason)
			}
		})
	}
}

// Adding a bit can only make the result stronger or keep it.
func TestTriageIsMonotone(t *testing.T) {
	for a := range 7 * 32 {
		for b := range 7 * 32 {
			var one, two [7]uint32
			one[a/32] |= 1 << (a % 32)
			two = one
			two[b/32] |= 1 << (b % 32)
			first, both := Triage(one), Triage(two)
			if defined74(a/32+1) && both.Result < first.Result {
				t.Fatalf("bits %d and %d: %v is weaker than %v alone", a, b, both.Result, first.Result)
			}
		}
	}
}
