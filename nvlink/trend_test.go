package nvlink

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"
)

// feed reads a link every hour for so many hours.
func feed(t *Trend, from time.Time, hours int, read func(hour int) Counters) time.Time {
	for h := range hours {
		t.Add(from.Add(time.Duration(h)*time.Hour), read(h), true)
	}
	return from.Add(time.Duration(hours-1) * time.Hour)
}

func recoveries(n int) Counters { u := uint64(n); return Counters{Recoveries: &u} }

func rate(ber float64) Counters { return Counters{EffectiveBER: &ber} }

func TestTrend(t *testing.T) {
	start := time.Unix(1.8e9, 0)
	for _, tt := range []struct {
		name  string
		hours int
		read  func(hour int) Counters
		warn  string // the beginning; empty is none
	}{
		{"505 in five days", 120, func(h int) Counters { return recoveries(1000 + h*505/120) }, "109 recoveries in a day"},
		{"many, all before it was known", 120, func(int) Counters { return recoveries(505) }, ""},
		{"one a day", 240, func(h int) Counters { return recoveries(h / 24) }, ""},
		{"six a day", 120, func(h int) Counters { return recoveries(h / 4) }, "29 recoveries in 5 days"},
		{"forgotten after the window", 400, func(h int) Counters { return recoveries(min(h, 60) * 5) }, ""},
		{"the counter began anew", 48, func(h int) Counters { return recoveries(h % 24 / 20) }, ""},
		{"bit errors", 12, func(int) Counters { return rate(2e-12) }, "bit error rate 2e-12"},
		{"few bit errors", 12, func(int) Counters { return rate(5e-13) }, ""},
		{"growing", 60, func(h int) Counters { return rate(2e-16 * math.Pow10(h/20)) }, "bit error rate grew from"},
		{"none", 60, func(int) Counters { return rate(15e-255) }, ""},
	} {
		var trend Trend
		now := feed(&trend, start, tt.hours, tt.read)
		coarse, got := trend.Warning(now, Limits{})
		if (coarse == "") != (got == "") {
			t.Errorf("%s: %q, and coarse %q", tt.name, got, coarse)
		}
		if !strings.HasPrefix(got, tt.warn) || (tt.warn == "") != (got == "") {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.warn)
		}
	}
}

// TestTheLinkThatIsKnownIsToldDaysAhead: 505 recoveries in five days, evenly. The
// defaults name it within three hours; limits of a site's own hold in their place.
func TestTheLinkThatIsKnownIsToldDaysAhead(t *testing.T) {
	start := time.Unix(1.8e9, 0)
	first := func(l Limits) (hours int) {
		var trend Trend
		for h := range 120 {
			now := start.Add(time.Duration(h) * time.Hour)
			trend.Add(now, recoveries(h*505/120), true)
			if _, exact := trend.Warning(now, l); exact != "" {
				return h
			}
		}
		return -1
	}
	for _, tt := range []struct {
		limits Limits
		hours  int
	}{{Limits{}, 3}, {Limits{PerDay: 50}, 6}, {Limits{PerDay: 1000, PerWindow: 400}, 96}, {Limits{PerDay: 1000, PerWindow: 1000}, -1}} {
		if got := first(tt.limits); got != tt.hours {
			t.Errorf("%+v: told after %d hours, want %d", tt.limits, got, tt.hours)
		}
	}
	var trend Trend
	now := feed(&trend, start, 12, func(int) Counters { return rate(5e-13) })
	if _, exact := trend.Warning(now, Limits{BER: 1e-13}); exact == "" {
		t.Error("a rate above the site's own limit is not told")
	}
}

func TestTrendFailedRecovery(t *testing.T) {
	var trend Trend
	start, ok, failed := time.Unix(1.8e9, 0), uint64(3), uint64(0)
	trend.Add(start, Counters{Recovered: &ok, RecoveryFailed: &failed}, true)
	failed = 1
	trend.Add(start.Add(time.Hour), Counters{Recovered: &ok, RecoveryFailed: &failed}, true)
	if coarse, got := trend.Warning(start.Add(time.Hour), Limits{}); got != "1 recovery in 5 days, 1 of them failed" || coarse != "1 or more failed recoveries in 5 days" {
		t.Errorf("%q, coarse %q", got, coarse)
	}
}

// TestCoarseWords: they stay the same while the order does.
func TestCoarseWords(t *testing.T) {
	start := time.Unix(1.8e9, 0)
	seen := map[string]bool{}
	var trend Trend
	for n := range 150 {
		trend.Add(start, recoveries(n), true)
		if coarse, _ := trend.Warning(start, Limits{}); coarse != "" {
			seen[coarse] = true
		}
	}
	for _, want := range []string{"10 or more recoveries in a day", "20 or more recoveries in a day", "50 or more recoveries in a day", "100 or more recoveries in a day"} {
		if !seen[want] {
			t.Errorf("%q is not said", want)
		}
		delete(seen, want)
	}
	if len(seen) > 0 {
		t.Errorf("said as well: %v", seen)
	}
	if got := decade(2e-12); got != 1e-12 {
		t.Errorf("the decade of 2e-12 is %g", got)
	}
}

// TestTrendInTraining: links that come up recover often, and that is no trend.
func TestTrendInTraining(t *testing.T) {
	var trend Trend
	start := time.Unix(1.8e9, 0)
	for m := range 10 {
		trend.Add(start.Add(time.Duration(m)*time.Minute), recoveries(m*50), false)
	}
	trend.Add(start.Add(10*time.Minute), recoveries(451), true)
	if all, _ := trend.Recovered(start.Add(-time.Hour)); all != 1 {
		t.Errorf("%d recoveries, want the one after the training", all)
	}
}

// TestTrendIsBounded: a link that errs all the time keeps a window, and one that
// never does keeps nothing.
func TestTrendIsBounded(t *testing.T) {
	var bad, good Trend
	feed(&bad, time.Unix(1.8e9, 0), 1000, recoveries)
	feed(&good, time.Unix(1.8e9, 0), 1000, func(int) Counters { return recoveries(0) })
	if len(bad.Steps) > 21 || !good.Quiet() {
		t.Errorf("%d steps of a bad link, %d of a good one", len(bad.Steps), len(good.Steps))
	}
	saved, err := json.Marshal(bad)
	if err != nil || len(saved) > 2048 {
		t.Errorf("%d bytes: %v", len(saved), err)
	}
}
