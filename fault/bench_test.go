package fault

import (
	"testing"
	"time"
)

// BenchmarkFlood is one more line of a fault that is open: the bar is a
// microsecond and no allocation.
func BenchmarkFlood(b *testing.B) {
	for name, text := range map[string]string{
		"95":  "95, pid=7, name=a, Uncontained: FBHUB. RST: Yes, D-RST: No",
		"79":  "79, pid=7, GPU has fallen off the bus.",
		"31":  "31, pid=7, name=a, MMU Fault",
		"74":  "74, pid=7, NVLink: fatal error detected on link 6(0x10000, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0)",
		"149": "149, NETIR_LINK_EVT Fatal XC0 i0 Link 05 (0x004505c6 0x00000000 0x00000000 0x00000000 0x00000000 0x00000000)",
	} {
		b.Run("xid "+name, func(b *testing.B) {
			j := New(Config{})
			o := Observation{Sequence: 1, Fact: Heard{Event: line(b, xid(1, text))}}
			now := time.Now()
			for range 10 {
				j.Step(now, o)
			}
			b.ReportAllocs()
			for b.Loop() {
				if vs := j.Step(now, o); vs != nil {
					b.Fatal("a repeat changed a verdict")
				}
			}
		})
	}
}

// BenchmarkFirstLine opens an episode, with its verdict.
func BenchmarkFirstLine(b *testing.B) {
	o := Observation{Sequence: 1, Fact: Heard{Event: line(b, xid(1, "79, pid=7, GPU has fallen off the bus."))}}
	now := time.Now()
	b.ReportAllocs()
	for b.Loop() {
		if vs := New(Config{}).Step(now, o); len(vs) != 1 {
			b.Fatal("no verdict")
		}
	}
}
