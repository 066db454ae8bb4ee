package serving

import (
	"math"
	"slices"
)

// leastObservations is how many there must be for a 95th percentile to be more than
// the slowest of them.
const leastObservations = 20

// since is what came to a histogram after an earlier reading of it; false where
// that is not known.
func (h *Histogram) since(before *Histogram) (Histogram, bool) {
	if !h.valid() || !before.valid() || !slices.Equal(h.Bounds, before.Bounds) {
		return Histogram{}, false
	}
	d := Histogram{Bounds: h.Bounds, Counts: make([]float64, len(h.Counts))}
	for i := range h.Counts {
		if d.Counts[i] = h.Counts[i] - before.Counts[i]; d.Counts[i] < 0 {
			return Histogram{}, false
		}
	}
	return d, d.valid()
}

// valid says whether a histogram can be one.
func (h *Histogram) valid() bool {
	if h == nil || len(h.Bounds) == 0 || len(h.Bounds) != len(h.Counts) || math.IsNaN(h.Bounds[0]) {
		return false
	}
	for i, c := range h.Counts {
		if !known(&c) || i > 0 && (c < h.Counts[i-1] || !(h.Bounds[i] > h.Bounds[i-1])) {
			return false
		}
	}
	return true
}

// add puts two histograms of the same bounds together; others cannot be.
func (h Histogram) add(o Histogram) Histogram {
	if len(h.Bounds) == 0 {
		return o
	}
	if !slices.Equal(h.Bounds, o.Bounds) {
		return h
	}
	sum := Histogram{Bounds: h.Bounds, Counts: slices.Clone(h.Counts)}
	for i, c := range o.Counts {
		sum.Counts[i] += c
	}
	return sum
}

// quantile gives a quantile in seconds, as Prometheus reckons it: linear inside of a
// bucket, and the highest finite bound beyond that. It is nil where too little was
// observed.
func (h Histogram) quantile(q float64) *float64 {
	n := len(h.Counts)
	if n == 0 || h.Counts[n-1] < leastObservations {
		return nil
	}
	rank := q * h.Counts[n-1]
	i, _ := slices.BinarySearch(h.Counts, rank)
	lower, below := 0.0, 0.0
	if i > 0 {
		lower, below = h.Bounds[i-1], h.Counts[i-1]
	}
	v := lower
	if in := h.Counts[i] - below; in > 0 && !math.IsInf(h.Bounds[i], 1) {
		v += (h.Bounds[i] - lower) * (rank - below) / in
	}
	return &v
}
