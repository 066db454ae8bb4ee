package fault

import (
	"testing"
	"time"
)

// The window of a slowdown is the site's, and has five polls at least, of which
// Fresh is two.
func TestSlowdownWindow(t *testing.T) {
	for _, c := range []struct{ slowdown, fresh, want time.Duration }{
		{0, 10 * time.Second, DefaultSlowdown},
		{time.Minute, 10 * time.Second, time.Minute},
		{time.Second, 10 * time.Second, 25 * time.Second},
		{0, 2 * time.Minute, 5 * time.Minute},
	} {
		j := New(Config{Slowdown: c.slowdown, Fresh: c.fresh})
		var hot sustained
		lasted := time.Duration(-1)
		start := time.Now()
		for at := time.Duration(0); lasted < 0; at += c.fresh / 2 {
			if hot.read(start.Add(at), j.cfg.Slowdown, true) {
				lasted = at
			}
		}
		if lasted != c.want {
			t.Errorf("slowdown %v, fresh %v: a fault after %v, want %v", c.slowdown, c.fresh, lasted, c.want)
		}
		if quiet := j.quiet(&episode{Class: Thermal}); quiet != 5*c.want {
			t.Errorf("slowdown %v, fresh %v: over after %v, want %v", c.slowdown, c.fresh, quiet, 5*c.want)
		}
	}
}
