package serving

import "slices"

// recentProbes is how many of a canary's last requests count: a minute's, at the
// usual period.
const recentProbes = 5

// Recent is how the last requests of a canary to a replica ended.
type Recent struct {
	// Outcomes are those of the last few, the oldest first.
	Outcomes []Outcome `json:"outcomes"`
	// FirstToken is in seconds and Rate in tokens a second, by the last request that
	// tells them; nil where none has.
	FirstToken *float64 `json:"firstToken,omitempty"`
	Rate       *float64 `json:"rate,omitempty"`
}

// take takes in one more.
func (r *Recent) take(p Probe) {
	r.Outcomes = append(slices.Clone(r.Outcomes), p.Outcome)
	if n := len(r.Outcomes) - recentProbes; n > 0 {
		r.Outcomes = r.Outcomes[n:]
	}
	if p.Tokens > 0 {
		first := p.FirstToken.Seconds()
		r.FirstToken = &first
	}
	if rate := p.Rate(); rate > 0 {
		r.Rate = &rate
	}
}

// Last is how the last one ended, and whether there was any.
func (r Recent) Last() (o Outcome, any bool) {
	if len(r.Outcomes) == 0 {
		return 0, false
	}
	return r.Outcomes[len(r.Outcomes)-1], true
}

// Share is that of the requests that passed; nil where there was none.
func (r Recent) Share() *float64 {
	if len(r.Outcomes) == 0 {
		return nil
	}
	passed := 0
	for _, o := range r.Outcomes {
		if o == Passed {
			passed++
		}
	}
	share := float64(passed) / float64(len(r.Outcomes))
	return &share
}
