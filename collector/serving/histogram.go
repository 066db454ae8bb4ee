package serving

import (
	"math"
	"slices"

	dto "github.com/prometheus/client_model/go"

	"github.com/gpuhealthd/gpuhealthd/serving"
)

// addUp adds histograms of the same bounds; nil where that makes none, since a
// quantile of half the requests would pass for that of all.
func addUp(series []*dto.Metric) *serving.Histogram {
	var sum *serving.Histogram
	for _, s := range series {
		h := histogramOf(s.GetHistogram())
		switch {
		case h == nil:
			return nil
		case sum == nil:
			sum = h
		case !slices.Equal(sum.Bounds, h.Bounds):
			return nil
		default:
			for i := range h.Counts {
				sum.Counts[i] += h.Counts[i]
			}
		}
	}
	return sum
}

// histogramOf reads one; nil where its bounds or its counts do not rise.
func histogramOf(h *dto.Histogram) *serving.Histogram {
	if len(h.GetBucket()) == 0 {
		return nil
	}
	read := &serving.Histogram{}
	bound, count := math.Inf(-1), 0.0
	for _, bucket := range h.GetBucket() {
		upper := bucket.GetUpperBound()
		n := max(float64(bucket.GetCumulativeCount()), bucket.GetCumulativeCountFloat())
		if !(upper > bound) || !(n >= count) || math.IsInf(n, 0) { // of NaN neither is true
			return nil
		}
		bound, count = upper, n
		read.Bounds, read.Counts = append(read.Bounds, upper), append(read.Counts, n)
	}
	return read
}
