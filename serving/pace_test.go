package serving

import (
	"fmt"
	"testing"
	"time"
)

// worker is a replica that decodes for so many requests at so many tokens a second
// for each. Counts says that it counts tokens; else it has a histogram of their
// times.
type worker struct {
	running, rate float64
	counts        bool
	tokens        float64
	times         *Histogram
}

func (k *worker) scrape(name string, at time.Duration) Scrape {
	const every = 5
	came := k.running * k.rate * every
	k.tokens += came
	s := scrape(name, at, k.tokens)
	s.Engines[0].Running = value(k.running)
	if k.counts {
		s.Engines[0].Tokens = value(k.tokens)
		return s
	}
	took := histogram(came, 1/max(k.rate, 1))
	if k.times != nil {
		*took = k.times.add(*took)
	}
	k.times = took
	s.Engines[0].PerToken = took
	return s
}

func TestPace(t *testing.T) {
	type workers []worker
	for _, c := range []struct {
		name        string
		usual, then workers
		want        Pace
	}{
		{"as it was", workers{{running: 8, rate: 60, counts: true}}, workers{{running: 8, rate: 50, counts: true}}, PaceUsual},
		{"eight times slower", workers{{running: 8, rate: 60, counts: true}}, workers{{running: 8, rate: 7.5, counts: true}}, PaceSlow},
		{"eight times slower, by its histogram", workers{{running: 8, rate: 60}}, workers{{running: 8, rate: 7.5}}, PaceSlow},
		{"less for each under a load that it never had", workers{{running: 8, rate: 60, counts: true}}, workers{{running: 256, rate: 7.5, counts: true}}, PaceUsual},
		{"slow requests pile up", workers{{running: 1, rate: 25, counts: true}}, workers{{running: 7, rate: 0.9, counts: true}}, PaceSlow},
		{"slow requests pile up, and get done in the end", workers{{running: 1, rate: 40, counts: true}}, workers{{running: 7, rate: 5.7, counts: true}}, PaceSlow},
		{"slow requests pile up, by its histogram", workers{{running: 3, rate: 60}}, workers{{running: 24, rate: 1}}, PaceSlow},
		{"less to do than it ever had", workers{{running: 8, rate: 60, counts: true}}, workers{{running: 1, rate: 70, counts: true}}, PaceUnknown},
		{"nothing to do", workers{{running: 8, rate: 60, counts: true}}, workers{{running: 0, rate: 0, counts: true}}, PaceUsual},
		{"its peer is not", workers{{running: 8, rate: 60, counts: true}, {running: 9, rate: 60, counts: true}},
			workers{{running: 8, rate: 7.5, counts: true}, {running: 9, rate: 60, counts: true}}, PaceSlow},
		{"its peer is as slow", workers{{running: 8, rate: 60, counts: true}, {running: 9, rate: 60, counts: true}},
			workers{{running: 8, rate: 7.5, counts: true}, {running: 9, rate: 8, counts: true}}, PaceUsual},
		{"its peer rests", workers{{running: 8, rate: 60, counts: true}, {running: 9, rate: 60, counts: true}},
			workers{{running: 8, rate: 7.5, counts: true}, {running: 0, rate: 0, counts: true}}, PaceSlow},
	} {
		w := New(Config{})
		var at time.Duration
		var looks []Look
		play := func(ws workers, long time.Duration) {
			for end := at + long; at < end; at += 5 * time.Second {
				var scrapes []Scrape
				for i := range ws {
					scrapes = append(scrapes, ws[i].scrape(fmt.Sprint(i), at))
				}
				looks = node(w, at, scrapes...)
			}
		}
		play(c.usual, 12*time.Minute)
		for i := range c.then {
			c.then[i].tokens, c.then[i].times = c.usual[i].tokens, c.usual[i].times
		}
		for _, long := range []time.Duration{5 * time.Minute, 30 * time.Minute} {
			play(c.then, long)
			if looks[0].Pace != c.want && (long < learnFor || c.want != PaceUnknown) {
				t.Errorf("%s, after %v: %v, want %v", c.name, long, looks[0].Pace, c.want)
			}
		}
	}
}
