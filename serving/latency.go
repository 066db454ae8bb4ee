package serving

// Latency is how long requests wait, in seconds: 95th percentiles. Nil is unknown.
type Latency struct {
	FirstToken *float64 `json:"firstToken,omitempty"`
	PerToken   *float64 `json:"perToken,omitempty"`
}

// Fleet is the median of the latencies of all replicas of a model, by its name, where
// somebody knows the fleet.
type Fleet map[string]Latency

// Suspicious is how many times as long as the median a replica's requests may wait
// before that is suspicious: half of its part is gone by then.
const Suspicious = 2.5

// latency is that of all engines of a replica together.
func (r *replica) latency() Latency {
	var first, per Histogram
	for _, e := range r.engines() {
		f, h := e.window.latencies()
		first, per = first.add(f), per.add(h)
	}
	return Latency{FirstToken: first.quantile(0.95), PerToken: per.quantile(0.95)}
}

// peers gives the medians of the other replicas of the same model.
func peers(scores []Score, self int) (l Latency) {
	var first, per []float64
	for i, s := range scores {
		if i == self || s.Model != scores[self].Model {
			continue
		}
		if known(s.Latency.FirstToken) {
			first = append(first, *s.Latency.FirstToken)
		}
		if known(s.Latency.PerToken) {
			per = append(per, *s.Latency.PerToken)
		}
	}
	return Latency{FirstToken: median(first), PerToken: median(per)}
}

// against gives the part of a latency beside the medians of others, nil where
// nothing can be compared.
func (l Latency) against(others Latency) *float64 {
	return worst(fares(l.FirstToken, others.FirstToken), fares(l.PerToken, others.PerToken))
}

// fares is 1 up to the median, 0.5 where it gets suspicious, and 0 as far beyond.
func fares(own, median *float64) *float64 {
	if !known(own) || !positive(median) {
		return nil
	}
	part := min(1, max(0, 1-(*own / *median - 1)/(2*(Suspicious-1))))
	return &part
}
