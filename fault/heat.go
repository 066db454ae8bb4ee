package fault

import "fmt"

// Heat is how hot a GPU is and may be, in °C. A nil pointer is unknown.
type Heat struct {
	GPU *int
	// Slowdown and Shutdown are where the hardware lowers its clocks, and where
	// it turns itself off.
	Slowdown, Shutdown *int
	// Margin is how far the GPU is below its nearest slowdown limit; newer GPUs
	// tell that and not the limit.
	Margin *int
}

// limit says at which of its limits the GPU is, empty for none.
func (h Heat) limit() string {
	at := func(limit *int) bool { return h.GPU != nil && limit != nil && *h.GPU >= *limit }
	switch {
	case at(h.Shutdown):
		return fmt.Sprintf("%d °C, and its shutdown limit is %d °C", *h.GPU, *h.Shutdown)
	case at(h.Slowdown):
		return fmt.Sprintf("%d °C, and its slowdown limit is %d °C", *h.GPU, *h.Slowdown)
	case h.Margin != nil && *h.Margin <= 0:
		return fmt.Sprintf("%d °C above its slowdown limit", -*h.Margin)
	}
	return ""
}
