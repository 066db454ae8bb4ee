package ecc

import (
	"testing"
	"time"
)

var start = time.Date(2026, 11, 30, 3, 0, 0, 0, time.UTC)

// plays a count at a steady rate, one reading every period.
func storm(t *testing.T, perSecond float64, period, length time.Duration) (raged bool, peak float64) {
	t.Helper()
	var g GPU
	for at := time.Duration(0); at <= length; at += period {
		count := uint64(perSecond * at.Seconds())
		if g.Read(start.Add(at), Reading{Corrected: &count})&StormRages != 0 {
			raged = true
		}
	}
	return raged, g.Storm.Peak
}

func TestStorm(t *testing.T) {
	for _, c := range []struct {
		name      string
		perSecond float64
		period    time.Duration
		length    time.Duration
		raged     bool
	}{
		{"thousands a second", 4600, 5 * time.Second, time.Minute, true},
		{"just above fifty a second", 51, time.Second, time.Minute, true},
		{"two hundred in two minutes", 200.0 / 115, 5 * time.Second, 2 * time.Minute, true},
		{"two hundred in four hours", 200.0 / (4 * 3600), 5 * time.Second, 4 * time.Hour, false},
		{"one a second", 1, 5 * time.Second, 10 * time.Minute, false},
		{"none", 0, 5 * time.Second, time.Hour, false},
		{"thousands a second, asked once a minute", 4600, time.Minute, 3 * time.Minute, true},
	} {
		if raged, _ := storm(t, c.perSecond, c.period, c.length); raged != c.raged {
			t.Errorf("%s: raged %v, want %v", c.name, raged, c.raged)
		}
	}
}

func TestIdleIsNotHealed(t *testing.T) {
	var g GPU
	count := uint64(0)
	read := func(at time.Duration, add uint64, busy bool) Finding {
		count += add
		return g.Read(start.Add(at), Reading{Corrected: &count, Busy: &busy})
	}
	read(0, 0, true)
	if read(5*time.Second, 50_000, true)&StormRages == 0 {
		t.Fatal("no storm at 10,000 a second")
	}
	if g.Storm.Peak != 5000 {
		t.Errorf("peak %v a second, want 5000 over the window of ten", g.Storm.Peak)
	}
	for at := 10 * time.Second; at < time.Hour; at += 5 * time.Second {
		read(at, 0, false)
	}
	if g.Storm.Raging || g.Calm != 0 || g.Storm.Peak != 5000 {
		t.Errorf("after an idle hour: raging %v, calm %v, peak %v; idle time counts for nothing", g.Storm.Raging, g.Calm, g.Storm.Peak)
	}
	for at := time.Hour; at < 2*time.Hour; at += 5 * time.Second {
		read(at, 0, true)
	}
	if g.Calm < 59*time.Minute {
		t.Errorf("an hour of work without a storm counts as %v", g.Calm)
	}
}

func TestCounterGoesBackwards(t *testing.T) {
	var g GPU
	read := func(at time.Duration, corrected uint64) Finding {
		return g.Read(start.Add(at), Reading{Corrected: &corrected})
	}
	read(0, 1_000_000)
	if found := read(5*time.Second, 3); found != 0 {
		t.Errorf("a reset of the counter shows %b", found)
	}
	if found := read(10*time.Second, 5); found != 0 || g.Storm.Peak > 1 {
		t.Errorf("after the reset: %b, peak %v", found, g.Storm.Peak)
	}
}

func TestGapIsNoRate(t *testing.T) {
	var c Counter
	c.Read(start, 10)
	if _, _, ok := c.Read(start.Add(time.Hour), 1_000_000); ok {
		t.Error("a rate over an hour's gap")
	}
	if grown, over, ok := c.Read(start.Add(time.Hour+5*time.Second), 1_000_010); !ok || grown != 10 || over != 5*time.Second {
		t.Errorf("behind the gap: %d over %v, %v", grown, over, ok)
	}
	c.Lose()
	if _, _, ok := c.Read(start.Add(2*time.Hour), 1_000_011); ok {
		t.Error("a rate without a baseline")
	}
}

func TestFindings(t *testing.T) {
	yes, no, two, many, none := true, false, 2, MaxPages, 0
	zero, one := uint64(0), uint64(1)
	for _, c := range []struct {
		name        string
		first, then Reading
		want        Finding
	}{
		{"a double-bit error", Reading{Uncorrected: &zero}, Reading{Uncorrected: &one}, NewDoubleBit},
		{"a double-bit error from before the agent", Reading{}, Reading{Uncorrected: &one}, 0},
		{"a reset", Reading{Uncorrected: &one}, Reading{Uncorrected: &zero}, Restarted},
		{"the SRAM threshold", Reading{}, Reading{Threshold: &yes}, SRAMThreshold},
		{"rows pending", Reading{}, Reading{Pending: &yes, Failed: &no}, RowsPending},
		{"rows failed", Reading{}, Reading{Pending: &no, Failed: &yes}, RowsFailed},
		{"pages pending", Reading{}, Reading{Pending: &yes, Retired: &Retired{DoubleBit: &two}}, PagesPending},
		{"pages exhausted", Reading{}, Reading{Pending: &no, Retired: &Retired{DoubleBit: &many}}, PagesExhausted},
		{"few spare rows", Reading{}, Reading{LowBanks: &two}, SparesLow},
		{"spare rows enough", Reading{}, Reading{LowBanks: &none}, 0},
		{"an error where there were values", Reading{Corrected: &zero}, Reading{Error: true}, Unreadable},
		{"an error from the start", Reading{}, Reading{Error: true}, 0},
		{"a card without ECC", Reading{}, Reading{}, 0},
	} {
		var g GPU
		g.Read(start, c.first)
		if got := g.Read(start.Add(5*time.Second), c.then); got != c.want {
			t.Errorf("%s: found %b, want %b", c.name, got, c.want)
		}
	}
}

func FuzzGPU(f *testing.F) {
	f.Add(uint64(0), uint64(1<<63), uint64(5), int64(5))
	f.Fuzz(func(t *testing.T, a, b, c uint64, seconds int64) {
		var g GPU
		at := start
		for _, count := range []uint64{a, b, c} {
			g.Read(at, Reading{Corrected: &count, Uncorrected: &count})
			at = at.Add(time.Duration(seconds%1000) * time.Second)
		}
		if g.Storm.Peak < 0 || len(g.Storm.Recent) > 3 || g.Calm < 0 {
			t.Errorf("%+v", g)
		}
	})
}
