package xidparse

import (
	"testing"
	"time"
)

func TestTime(t *testing.T) {
	wall := func(year int, month time.Month, day, hour, minute, second, nanos int) Time {
		return Time{ClockWall, time.Duration(time.Date(year, month, day, hour, minute, second, nanos, time.UTC).UnixNano())}
	}
	local := func(year int, month time.Month, day, hour, minute, second int) Time {
		return Time{ClockLocal, wall(year, month, day, hour, minute, second, 0).Since}
	}
	yearless := func(days int, clock time.Duration) Time {
		return Time{ClockYearless, time.Duration(days)*24*time.Hour + clock}
	}
	boot := func(d time.Duration) Time { return Time{ClockBoot, d} }
	tests := []struct {
		prefix string
		want   Time
	}{
		{"[   14.650646] ", boot(14650646 * time.Microsecond)},
		{"[  130.456250] [    C1] ", boot(130456250 * time.Microsecond)},
		{"[  130.456250 <    0.000004>] ", boot(130456250 * time.Microsecond)},
		{"<4>[   14.650646] ", boot(14650646 * time.Microsecond)},
		{"4,1227,14650646,-;", boot(14650646 * time.Microsecond)},
		{"May 19 07:08:57 node-a kernel: [680111.646286] ", boot(680111646286 * time.Microsecond)},
		{"[    5.400000] node-a kernel: ", boot(5400 * time.Millisecond)},
		{`{"_TRANSPORT":"kernel","_SOURCE_MONOTONIC_TIMESTAMP":"14650646","__MONOTONIC_TIMESTAMP":"99","MESSAGE":"`, boot(14650646 * time.Microsecond)},
		{`{"_TRANSPORT":"kernel","__MONOTONIC_TIMESTAMP":"99","__REALTIME_TIMESTAMP":"1757422415123456","MESSAGE":"`, boot(99 * time.Microsecond)},
		{`{"_TRANSPORT":"kernel","__REALTIME_TIMESTAMP":"1757422415123456","MESSAGE":"`, wall(2025, 9, 9, 12, 53, 35, 123456000)},
		{"1757422415.123456 node-a kernel: ", wall(2025, 9, 9, 12, 53, 35, 123456000)},
		{"[Sun Feb 23 16:24:18 2025] ", local(2025, 2, 23, 16, 24, 18)},
		{"kern  :warn  : 2025-01-21T04:41:44,283302+00:00 ", wall(2025, 1, 21, 4, 41, 44, 283302000)},
		{"2026-10-09T10:15:22+0200 node-a kernel: ", wall(2026, 10, 9, 8, 15, 22, 0)},
		{"2026-10-09T10:15:22-03:30 node-a kernel: ", wall(2026, 10, 9, 13, 45, 22, 0)},
		{"<4>1 2026-10-09T10:15:22.003Z node-a kernel - - - ", wall(2026, 10, 9, 10, 15, 22, 3000000)},
		{"n: kern: warning: [2026-04-22T21:27:51.291660856Z]: ", wall(2026, 4, 22, 21, 27, 51, 291660856)},
		{"Fri 2024-08-30 11:43:14 UTC node-a kernel: ", wall(2024, 8, 30, 11, 43, 14, 0)},
		{"Fri 2024-08-30 11:43:14 +07 node-a kernel: ", wall(2024, 8, 30, 4, 43, 14, 0)},
		{"Fri 2024-08-30 11:43:14 -03 node-a kernel: ", wall(2024, 8, 30, 14, 43, 14, 0)},
		{"Fri 2024-08-30 11:43:14 +0530 node-a kernel: ", wall(2024, 8, 30, 6, 13, 14, 0)},
		{"Fri 2024-08-30 11:43:14.500000 +0530 node-a kernel: ", wall(2024, 8, 30, 6, 13, 14, 500000000)},
		{"Fri 2024-08-30 11:43:14 EST kernel: ", Time{}},
		{"Fri 2024-08-30 11:43:14 EST node-a kernel: ", Time{}},
		{"Fri 2024-08-30 11:43:14.500000 CEST node-a kernel: ", Time{}},
		{"2024-08-30 11:43:14 GPU kernel: ", local(2024, 8, 30, 11, 43, 14)},
		{"Aug 30 11:43:14 GPU kernel: ", yearless(31+29+31+30+31+30+31+29, 11*time.Hour+43*time.Minute+14*time.Second)},
		{"2026 Nov 29 10:11:12 node-a kernel: ", local(2026, 11, 29, 10, 11, 12)},
		{"May  6 00:38:27 node-a kernel: ", yearless(31+29+31+30+5, 38*time.Minute+27*time.Second)},
		{"May  6 00:38:27.250000 node-a kernel: ", yearless(31+29+31+30+5, 38*time.Minute+27*time.Second+250*time.Millisecond)},

		{"", Time{}},
		{"kernel: ", Time{}},
		{"[...] ", Time{}},
		{"[  +0.000015] ", Time{}},
		{"[Feb23 16:24] ", Time{}},
		{"11月 15 14:15:47 node-a kernel: ", Time{}},
		{"[99999999999999999999.0] ", Time{}},
		{"[9999999999999999.0] ", Time{}},
		{"Foo  6 00:38:27 node-a kernel: ", Time{}},
	}
	for _, tt := range tests {
		line := tt.prefix + "NVRM: Xid (PCI:0000:3b:00): 79, gone"
		if tt.prefix != "" && tt.prefix[0] == '{' {
			line += `"}`
		}
		cut := Cut([]byte(line))
		if got := cut.Time(); got != tt.want || !cut.Kernel {
			t.Errorf("%q: clock %d, %v; want clock %d, %v", line, got.Clock, got.Since, tt.want.Clock, tt.want.Since)
		}
	}
}

// A time says its zone only where the log does.
func TestTimeString(t *testing.T) {
	for prefix, want := range map[string]string{
		"[   14.650646] ":                      "14.650646",
		"[Sun Feb 23 16:24:18 2025] ":          "2025-02-23T16:24:18",
		"2026-10-09T10:15:22+0200 n kernel: ":  "2026-10-09T08:15:22Z",
		"May  6 00:38:27 node-a kernel: ":      "May  6 00:38:27",
		"Fri 2024-08-30 11:43:14 EST kernel: ": "",
	} {
		if got := Cut([]byte(prefix + line79)).Time().String(); got != want {
			t.Errorf("%q is %q, want %q", prefix, got, want)
		}
	}
}

func TestTimeCostsNoAllocation(t *testing.T) {
	for _, prefix := range []string{"[    1.5] ", "6,1,2,-;", "2025-01-21T04:41:44,283302+00:00 ", "Aug 10 15:36:05 n kernel: "} {
		line := []byte(prefix + line79)
		if n := testing.AllocsPerRun(100, func() { Cut(line).Time() }); n != 0 {
			t.Errorf("%q: %v allocations", line, n)
		}
	}
}
