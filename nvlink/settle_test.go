package nvlink

import (
	"testing"
	"time"
)

// TestSettling plays readings, one a minute: . is good, x is bad, T says that
// training began, and marks where the trouble has lasted.
func TestSettling(t *testing.T) {
	for name, tt := range map[string]struct {
		readings string
		lasting  int // minute of the first that has lasted, -1 never
	}{
		"good":                        {"....................", -1},
		"up after eight minutes":      {"xxxxxxxx.............", -1},
		"never up after the start":    {"xxxxxxxxxxxxxxxx", 10},
		"fails in the midst of work":  {"............xxxxx", 14},
		"a moment":                    {"............x..x..xx...", -1},
		"fails while others train":    {".....xxxxxxxxxxxx", 10},
		"a reset begins the time new": {"............Txxxxxxxxxxxxxxx", 22},
	} {
		var s Settling
		now, minute, got := time.Unix(1e9, 0), 0, -1
		for _, c := range tt.readings {
			if c == 'T' {
				s.Restart(now)
				continue
			}
			if s.Read(now, c == '.') && got < 0 {
				got = minute
			}
			minute++
			now = now.Add(time.Minute)
		}
		if got != tt.lasting {
			t.Errorf("%s: lasted at minute %d, want %d", name, got, tt.lasting)
		}
	}
}

func TestGoodFor(t *testing.T) {
	var s Settling
	now := time.Unix(1e9, 0)
	s.Read(now, true)
	s.Read(now.Add(time.Minute), true)
	if got := s.GoodFor(now.Add(time.Minute)); got != time.Minute {
		t.Errorf("good for %s", got)
	}
	s.Read(now.Add(2*time.Minute), false)
	if got := s.GoodFor(now.Add(2 * time.Minute)); got != 0 {
		t.Errorf("bad, and good for %s", got)
	}
}
