package replay

import (
	"testing"
	"time"

	"github.com/gpuhealthd/gpuhealthd/xidparse"
)

func TestClock(t *testing.T) {
	tests := []struct {
		name  string
		lines []string
		want  time.Duration
	}{
		{"no stamps", []string{"NVRM: a", "NVRM: a", "NVRM: a"}, 3 * time.Millisecond},
		{"uptime", []string{"[   10.500000] a", "[   12.000000] a"}, 1500 * time.Millisecond},
		{"a reboot", []string{"[ 1000.000000] a", "[    1.000000] a", "[    3.000000] a"}, 2 * time.Second},
		{"wall clock", []string{"2026-10-09T10:15:22+0200 n kernel: a", "2026-10-09T08:16:22Z n kernel: a"}, time.Minute},
		{"a wall clock that is set back", []string{"May  6 02:59:59 n kernel: a", "May  6 02:00:00 n kernel: a", "May  6 02:00:05 n kernel: a"}, 5 * time.Second},
		{"the turn of a year", []string{"Dec 31 23:59:59 n kernel: a", "Jan  1 00:00:01 n kernel: a", "Jan  1 00:00:02 n kernel: a"}, time.Second},
		{"another clock", []string{"[   10.500000] a", "May  6 02:59:59 n kernel: a", "May  6 03:00:00 n kernel: a"}, time.Second},
		{"the uptime before the wall clock", []string{"May  6 02:59:59 n kernel: [   10.5] a", "May  6 05:59:59 n kernel: [   11.5] a"}, time.Second},
		{"a line without one", []string{"[   10.500000] a", "NVRM: a", "[   11.500000] a"}, time.Second + time.Millisecond},
	}
	for _, tt := range tests {
		start := time.Unix(0, 0)
		c := clock{now: start}
		for _, line := range tt.lines {
			before := c.now
			if c.pass(xidparse.Cut([]byte(line)).Time()); c.now.Before(before) {
				t.Errorf("%s: the time goes back at %q", tt.name, line)
			}
		}
		if got := c.now.Sub(start); got != tt.want {
			t.Errorf("%s: %v passed, want %v", tt.name, got, tt.want)
		}
	}
}
