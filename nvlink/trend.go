package nvlink

import (
	"fmt"
	"math"
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

// Warning says why the link should be looked at; empty when it need not. Coarse is the
// same in words that change with the order of what is counted, and not with each count.
func (t Trend) Warning(now time.Time, limits Limits) (coarse, exact string) {
	l := limits.orDefault()
	all, failed := t.Recovered(now.Add(-TrendWindow))
	day, _ := t.Recovered(now.Add(-trendDay))
	first, last := t.BER()
	switch {
	case failed > 0:
		return fmt.Sprintf("%d or more failed recoveries in 5 days", round(failed)), fmt.Sprintf("%s in 5 days, %d of them failed", times(all), failed)
	case day >= l.PerDay:
		return fmt.Sprintf("%d or more recoveries in a day", round(day)), times(day) + " in a day"
	case all >= l.PerWindow:
		return fmt.Sprintf("%d or more recoveries in 5 days", round(all)), times(all) + " in 5 days"
	case last >= l.BER:
		return fmt.Sprintf("bit error rate of %.0e or more behind the error correction", decade(last)), fmt.Sprintf("bit error rate %.0e behind the error correction", last)
	case last >= l.BER/growFold && last >= growFold*first:
		return fmt.Sprintf("bit error rate grew to %.0e or more", decade(last)), fmt.Sprintf("bit error rate grew from %.0e to %.0e", first, last)
	}
	return "", ""
}

// round gives the greatest number of one digit, 1, 2 or 5, and zeros that is not above n.
func round(n uint64) uint64 {
	unit := uint64(1)
	for n/unit >= 10 {
		unit *= 10
	}
	switch head := n / unit; {
	case head >= 5:
		return 5 * unit
	case head >= 2:
		return 2 * unit
	}
	return unit
}

// decade gives the power of ten that is not above a rate.
func decade(rate float64) float64 { return math.Pow10(int(math.Floor(math.Log10(rate)))) }

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
