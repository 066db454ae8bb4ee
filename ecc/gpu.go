package ecc

import "time"

// Finding is one thing that a reading shows of a GPU's memory.
type Finding uint16

// The findings, as bits.
const (
	// StormRages: corrected errors faster than they should come.
	StormRages Finding = 1 << iota
	// NewDoubleBit: the count of uncorrected errors has grown.
	NewDoubleBit
	// SRAMThreshold: the driver says that the SRAM has had too many; the GPU is
	// to be replaced.
	SRAMThreshold
	// RowsPending: rows wait for a reset to be remapped.
	RowsPending
	// RowsFailed: a row could not be remapped.
	RowsFailed
	// SparesLow: some banks have few or no spare rows left. A warning.
	SparesLow
	// Restarted: the count of uncorrected errors has fallen, as it does at a reset
	// of the GPU and when the driver is loaded.
	Restarted
	// Unreadable: the counters answered before and answer with an error now.
	Unreadable
	// PagesPending: pages wait for the driver to be loaded again to be retired.
	PagesPending
	// PagesExhausted: too many pages are retired; the GPU is to be replaced.
	PagesExhausted
)

// Reading is what one poll says of a GPU's memory. A nil pointer is unknown.
type Reading struct {
	// Corrected and Uncorrected are the volatile counts, DRAM and SRAM together.
	Corrected, Uncorrected *uint64
	// Threshold, Pending and Failed are the driver's flags. Pending is of rows,
	// or of pages where Retired is known.
	Threshold, Pending, Failed *bool
	// Retired is page retirement; nil where the GPU remaps rows instead.
	Retired *Retired
	// LowBanks counts banks with few or no spare rows left.
	LowBanks *int
	// Error says that the counters answered with an error, which a card without
	// ECC does not: that says "not supported".
	Error bool
	// Busy is whether the GPU computes.
	Busy *bool
}

// GPU follows the memory of one GPU from poll to poll. Its zero value knows
// nothing.
type GPU struct {
	Corrected   Counter
	Uncorrected Counter
	Storm       Storm
	Pages       Pages
	// Answered says that the counters have answered once.
	Answered bool
	// Calm is for how long the GPU has computed since the last storm; At is the
	// last reading's time.
	Calm time.Duration
	At   time.Time
}

// Read takes one poll and gives what it shows.
func (g *GPU) Read(now time.Time, r Reading) Finding {
	var found Finding
	found |= g.corrected(now, r)
	if r.Uncorrected != nil && !g.Uncorrected.At.IsZero() && *r.Uncorrected < g.Uncorrected.Value {
		found |= Restarted
	}
	if r.Uncorrected == nil {
		g.Uncorrected.Lose()
	} else if grown, _, ok := g.Uncorrected.Read(now, *r.Uncorrected); ok && grown > 0 {
		found |= NewDoubleBit
	}
	pending := RowsPending
	if r.Retired != nil {
		pending = PagesPending
		if g.Pages.Read(now, *r.Retired) {
			found |= PagesExhausted
		}
	}
	for flag, f := range map[*bool]Finding{r.Threshold: SRAMThreshold, r.Pending: pending, r.Failed: RowsFailed} {
		if flag != nil && *flag {
			found |= f
		}
	}
	if r.LowBanks != nil && *r.LowBanks > 0 {
		found |= SparesLow
	}
	if r.Error && g.Answered {
		found |= Unreadable
	}
	g.Answered = g.Answered || r.Corrected != nil || r.Uncorrected != nil
	return found
}

// corrected follows the storm, and how long the GPU has worked without one.
func (g *GPU) corrected(now time.Time, r Reading) Finding {
	since := now.Sub(g.At)
	first := g.At.IsZero()
	g.At = now
	if r.Corrected == nil {
		g.Corrected.Lose()
		return 0
	}
	grown, over, ok := g.Corrected.Read(now, *r.Corrected)
	if !ok {
		return 0
	}
	if g.Storm.Add(now, grown, over) {
		g.Calm = 0
		return StormRages
	}
	if r.Busy != nil && *r.Busy && !first && since <= maxGap {
		g.Calm += since
	}
	return 0
}
