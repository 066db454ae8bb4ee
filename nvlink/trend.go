package nvlink

import (
	"fmt"
	"slices"
	"time"
)

const (
	// TrendWindow is how far back a trend looks: one link had 505 recoveries in
	// five days before it failed.
	TrendWindow = 5 * 24 * time.Hour
	// trendStep is what is kept together: a window has twenty steps.
	trendStep = 6 * time.Hour
	// trendDay is how far back "a day" looks.
	trendDay = 24 * time.Hour

	// noBER is a rate too small to be kept.
	noBER = 1e-16
)

// Trend follows one link over days. It keeps only steps in which something
// happened, so that a link without errors costs nothing.
type Trend struct {
	// Last and LastFailed are the counters at the last reading.
	Last, LastFailed uint64
	// Read is when that was, zero before.
	Read  time.Time
	Steps []Step `json:",omitempty"`
}

// Step is what happened in one step of time.
type Step struct {
	At time.Time
	// Recoveries and Failed are those within the step.
	Recoveries, Failed uint64 `json:",omitempty"`
	// BER is the worst effective rate that was read in it.
	BER float64 `json:",omitempty"`
}

// Add takes in a reading. What a link counted before it was known, or while it
// was training, is no trend; count says that this is neither.
func (t *Trend) Add(now time.Time, c Counters, count bool) {
	t.Steps = slices.DeleteFunc(t.Steps, func(s Step) bool { return now.Sub(s.At) >= TrendWindow })
	recoveries, failed := c.Retrained(), value(c.RecoveryFailed)
	more, moreFailed := since(t.Last, recoveries), since(t.LastFailed, failed)
	ber := 0.0
	if c.EffectiveBER != nil && *c.EffectiveBER >= noBER {
		ber = *c.EffectiveBER
	}
	if count && !t.Read.IsZero() && (more > 0 || moreFailed > 0 || ber > 0) {
		s := t.step(now)
		s.Recoveries += more
		s.Failed += moreFailed
		s.BER = max(s.BER, ber)
	}
	t.Last, t.LastFailed, t.Read = recoveries, failed, now
}

// step gives the step that now is in.
func (t *Trend) step(now time.Time) *Step {
	at := now.Truncate(trendStep)
	if n := len(t.Steps); n > 0 && !t.Steps[n-1].At.Before(at) {
		return &t.Steps[n-1]
	}
	t.Steps = append(t.Steps, Step{At: at})
	return &t.Steps[len(t.Steps)-1]
}

// Retrained is how often the link was trained again, by whichever counter tells.
func (c Counters) Retrained() uint64 {
	if c.Recoveries != nil {
		return *c.Recoveries
	}
	return value(c.Recovered) + value(c.RecoveryFailed)
}

// Recovered adds up the recoveries of the time since.
func (t Trend) Recovered(since time.Time) (all, failed uint64) {
	for _, s := range t.Steps {
		if s.At.Add(trendStep).After(since) {
			all, failed = all+s.Recoveries, failed+s.Failed
		}
	}
	return all, failed
}

// BER gives the worst rate of the oldest and of the newest step that had one.
func (t Trend) BER() (first, last float64) {
	for _, s := range t.Steps {
		if s.BER > 0 {
			if first == 0 {
				first = s.BER
			}
			last = s.BER
		}
	}
	return first, last
}

// Quiet says whether there is nothing to keep but the counters.
func (t Trend) Quiet() bool { return len(t.Steps) == 0 }

// Warning says why the link should be looked at; empty when it need not.
func (t Trend) Warning(now time.Time, limits Limits) string {
	l := limits.orDefault()
	all, failed := t.Recovered(now.Add(-TrendWindow))
	day, _ := t.Recovered(now.Add(-trendDay))
	first, last := t.BER()
	switch {
	case failed > 0:
		return fmt.Sprintf("%s in 5 days, %d of them failed", times(all), failed)
	case day >= l.PerDay:
		return times(day) + " in a day"
	case all >= l.PerWindow:
		return times(all) + " in 5 days"
	case last >= l.BER:
		return fmt.Sprintf("bit error rate %.0e behind the error correction", last)
	case last >= l.BER/growFold && last >= growFold*first:
		return fmt.Sprintf("bit error rate grew from %.0e to %.0e", first, last)
	}
	return ""
}

func times(n uint64) string {
	if n == 1 {
		return "1 recovery"
	}
	return fmt.Sprintf("%d recoveries", n)
}

// since is how much a counter has grown; one that began anew has grown by all
// that it says.
func since(before, now uint64) uint64 {
	if now < before {
		return now
	}
	return now - before
}

func value(n *uint64) uint64 {
	if n == nil {
		return 0
	}
	return *n
}
