package serving

import (
	"math"
	"testing"
	"time"
)

// histogram is one of a number of requests that all took as long.
func histogram(n float64, took float64) *Histogram {
	h := &Histogram{Bounds: []float64{0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, math.Inf(1)}}
	for _, b := range h.Bounds {
		if b < took {
			h.Counts = append(h.Counts, 0)
		} else {
			h.Counts = append(h.Counts, n)
		}
	}
	return h
}

func TestQuantile(t *testing.T) {
	for _, c := range []struct {
		name   string
		counts []float64
		want   float64
	}{
		{"inside of a bucket", []float64{50, 90, 100, 100}, 0.75},
		{"all in the first", []float64{100, 100, 100, 100}, 0.095},
		{"beyond all bounds", []float64{0, 0, 0, 100}, 1},
		{"at a bound", []float64{95, 95, 95, 100}, 0.1},
		{"too few", []float64{9, 19, 19, 19}, -1},
	} {
		h := Histogram{Bounds: []float64{0.1, 0.5, 1, math.Inf(1)}, Counts: c.counts}
		got := h.quantile(0.95)
		if got == nil {
			got = value(-1)
		}
		if math.Abs(*got-c.want) > 1e-9 {
			t.Errorf("%s: %v, want %v", c.name, *got, c.want)
		}
	}
}

// What cannot be a histogram, or the next reading of one, says nothing.
func TestNoHistogram(t *testing.T) {
	good := histogram(100, 0.1)
	for name, h := range map[string]*Histogram{
		"none":               nil,
		"empty":              {},
		"bounds that fall":   {Bounds: []float64{1, 0.5}, Counts: []float64{1, 2}},
		"counts that fall":   {Bounds: []float64{0.5, 1}, Counts: []float64{2, 1}},
		"no number":          {Bounds: []float64{0.5, 1}, Counts: []float64{1, math.NaN()}},
		"a bound too many":   {Bounds: []float64{0.5, 1}, Counts: []float64{1}},
		"a bound no number":  {Bounds: []float64{math.NaN()}, Counts: []float64{1}},
		"other bounds":       {Bounds: []float64{0.5, 1}, Counts: []float64{1, 2}},
		"fewer than before":  histogram(50, 0.1),
		"slower than before": histogram(100, 0.2),
	} {
		if d, ok := h.since(good); ok {
			t.Errorf("%s: %+v", name, d)
		}
	}
}

// played gives the scores of three replicas of a model, of which the first takes its
// time. All work.
func played(first, per float64, fleet Fleet) []Score {
	w := New(Config{})
	var now time.Time
	for n := range 14 {
		at := time.Duration(n) * 5 * time.Second
		now = start.Add(at)
		var scrapes []Scrape
		did := map[string]Activity{}
		for _, name := range []string{"a", "b", "c"} {
			s := scrape(name, at, float64(10*n))
			took, each := 0.1, 0.02
			if name == "a" {
				took, each = first, per
			}
			s.Engines[0].FirstToken, s.Engines[0].PerToken = histogram(float64(10*n), took), histogram(float64(100*n), each)
			scrapes, did["GPU-"+name] = append(scrapes, s), Activity{At: now, Busy: value(90), SM: value(50)}
		}
		w.Scraped(scrapes, nil)
		w.Polled(now, did)
	}
	return w.Scores(now, fleet, map[string]bool{"GPU-c": true})
}

func TestScores(t *testing.T) {
	for _, c := range []struct {
		name       string
		first, per float64
		fleet      Fleet
		want       float64
	}{
		{"as its peers", 0.1, 0.02, nil, 1},
		{"slow for each token", 0.1, 0.05, nil, 0.5},
		{"slow to begin", 1, 0.02, nil, 0},
		{"faster", 0.05, 0.01, nil, 1},
		{"as its peers, and all of them slow", 0.1, 0.02, Fleet{"llama": {PerToken: value(0.0078)}}, 0.5},
		{"another model's fleet", 0.1, 0.02, Fleet{"qwen": {PerToken: value(0.0078)}}, 1},
	} {
		s := played(c.first, c.per, c.fleet)[0]
		got, told := s.Parts[PartLatency]
		if !told || math.Abs(got-c.want) > 0.01 || s.Value == nil || *s.Value != got {
			t.Errorf("%s: latency %.3f of %v, score %v; want %v", c.name, got, s.Latency, s.Value, c.want)
		}
	}
	if s := played(0.1, 0.02, nil)[2]; s.Parts[PartGPU] != 0 || *s.Value != 0 {
		t.Errorf("a GPU with a fault of its own: %+v", s)
	}
}

// Where nothing is known there is no score.
func TestNoScore(t *testing.T) {
	w := New(Config{})
	w.Scraped([]Scrape{{Replica: Replica{Name: "loading"}, Endpoint: "u", At: start, Answer: Refused}}, nil)
	if s := w.Scores(start, nil, nil)[0]; s.Value != nil || len(s.Parts) > 0 || s.State != Unclear {
		t.Errorf("%+v", s)
	}
}

// TestScoreOfOneThatIsMute: GPUs in order are no replica that serves, and one that is not
// speaks against it.
func TestScoreOfOneThatIsMute(t *testing.T) {
	w, now := New(Config{}), time.Unix(1e9, 0)
	one := Replica{Name: "ns/mute", GPUs: []string{"GPU-0"}}
	alive := true
	idle := 0.0
	for range 3 {
		now = now.Add(5 * time.Second)
		w.Polled(now, map[string]Activity{"GPU-0": {At: now, Busy: &idle, Watts: &idle}})
		w.Scraped([]Scrape{{Replica: one, Endpoint: "http://a", At: now, Answer: Silent, Alive: &alive}}, nil)
	}
	if got := w.Scores(now, nil, nil)[0]; got.Value != nil || len(got.Parts) > 0 {
		t.Errorf("it scores %+v", got)
	}
	if got := w.Scores(now, nil, map[string]bool{"GPU-0": true})[0]; got.Value == nil || *got.Value != 0 {
		t.Errorf("with a GPU at fault it scores %+v", got)
	}
}
