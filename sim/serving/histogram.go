package serving

// histogram counts durations, in the bounds below.
type histogram struct {
	counts [len(bounds)]int
	sum    float64
	count  int
}

// bounds are upper bounds in seconds; what is above them all is in the count alone.
var bounds = [...]float64{0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10, 20, 40, 80}

func (h *histogram) observe(seconds float64) {
	h.sum += seconds
	h.count++
	for i, bound := range bounds {
		if seconds <= bound {
			h.counts[i]++
		}
	}
}
