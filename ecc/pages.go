package ecc

import "time"

// When retired pages are too many: the limits of DCGM's health watch
// (dcgm_gpu_hardware_limits.h), the first of which follows NVIDIA's field
// diagnostic, and that decides on a replacement. A board can retire 64 pages.
const (
	// MaxPages is how many, whatever for, are too many.
	MaxPages = 63
	// SoftPages is how many for double-bit errors are bearable, and more than
	// WeeklyPages new ones within PagesWindow beyond that are not.
	SoftPages   = 15
	WeeklyPages = 1
	PagesWindow = 7 * 24 * time.Hour
)

// Retired is how many pages of memory are no longer used, by what they were
// retired for. GPUs before Ampere have that in the place of row remapping. A nil
// pointer is unknown.
type Retired struct {
	SingleBit, DoubleBit *int
}

// Exhausted says whether hardly a page is left that could be retired.
func (r Retired) Exhausted() bool {
	total := 0
	for _, n := range []*int{r.SingleBit, r.DoubleBit} {
		if n != nil {
			total += *n
		}
	}
	return total >= MaxPages
}

// Pages follows the retired pages of one GPU from poll to poll. Its zero value
// has seen none.
type Pages struct {
	DoubleBit Counter
	// Newest are the times of the last pages for double-bit errors that were
	// seen to come, the oldest first.
	Newest [WeeklyPages + 1]time.Time
}

// Read takes one poll and says whether the pages are too many.
func (p *Pages) Read(now time.Time, r Retired) bool {
	if r.DoubleBit == nil {
		p.DoubleBit.Lose()
		return r.Exhausted()
	}
	grown, _, _ := p.DoubleBit.Read(now, uint64(*r.DoubleBit))
	for range min(grown, uint64(len(p.Newest))) {
		copy(p.Newest[:], p.Newest[1:])
		p.Newest[WeeklyPages] = now
	}
	fast := !p.Newest[0].IsZero() && now.Sub(p.Newest[0]) <= PagesWindow
	return r.Exhausted() || *r.DoubleBit > SoftPages && fast
}
