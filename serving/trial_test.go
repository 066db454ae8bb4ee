package serving

import (
	"strings"
	"testing"
	"time"
)

func number(n float64) *float64 { return &n }

// idle and busy are what an engine says.
func idle() Reading { return Reading{Running: number(0), Waiting: number(0), Progress: number(10)} }

func busy(tokens float64) Reading {
	return Reading{Running: number(2), Waiting: number(0), Progress: number(tokens)}
}

func asleep() Reading { yes := true; r := idle(); r.Paused = &yes; return r }

var cold = Replica{Name: "default/llama-0", UID: "u1", Life: "1"}

func answered(r Reading) Scrape {
	return Scrape{Replica: cold, Endpoint: "http://a", Answer: Answered, Engines: []Reading{r}}
}

var silent = Scrape{Replica: cold, Endpoint: "http://a", Answer: Silent, Why: "no answer within 5s"}

func never(Replica) bool { return false }

// TestTrialByScrapes has what counts as a pass where no canary asks.
func TestTrialByScrapes(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		looks  []Scrape
		opens  int // after so many looks, 0 for never
		lacked string
	}{
		"idle and answering":     {[]Scrape{answered(idle()), answered(idle())}, 2, ""},
		"tokens under load":      {[]Scrape{answered(busy(1)), answered(busy(5)), answered(busy(9))}, 3, ""},
		"frozen behind /health":  {[]Scrape{silent, silent, silent, silent}, 0, "do not come"},
		"dead behind /metrics":   {[]Scrape{answered(busy(7)), answered(busy(7)), answered(busy(7))}, 0, "no token has come"},
		"only waiting":           {[]Scrape{answered(Reading{Running: number(0), Waiting: number(3), Progress: number(1)}), answered(Reading{Running: number(0), Waiting: number(3), Progress: number(1)})}, 0, "no token"},
		"asleep":                 {[]Scrape{answered(asleep()), answered(asleep())}, 0, "paused"},
		"tells nothing":          {[]Scrape{answered(Reading{}), answered(Reading{})}, 0, "only a canary"},
		"not twice in a row":     {[]Scrape{answered(idle()), silent, answered(idle())}, 0, ""},
		"again after a failure":  {[]Scrape{answered(idle()), silent, answered(idle()), answered(idle())}, 4, ""},
		"one of two ranks stuck": {[]Scrape{ranks(1, 1), ranks(2, 1), ranks(3, 1)}, 0, "the engine 1 has requests open"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			trials, now := NewTrials(false), time.Unix(1e9, 0)
			trials.Replicas(now, []Replica{cold}, never)
			opened := 0
			for n, s := range c.looks {
				now = now.Add(5 * time.Second)
				trials.Scrapes(now, []Scrape{s})
				if trials.List()[0].Open() && opened == 0 {
					opened = n + 1
				}
			}
			if got := trials.List()[0]; opened != c.opens || !strings.Contains(got.Why, c.lacked) {
				t.Errorf("opened after %d looks, want %d: %+v", opened, c.opens, got)
			}
		})
	}
}

func ranks(first, second float64) Scrape {
	s := answered(busy(first))
	s.Engines[0].Engine = "0"
	r := busy(second)
	r.Engine = "1"
	s.Engines = append(s.Engines, r)
	return s
}

// TestTrialByCanary holds a cold replica until two requests in a row were answered
// in time; what its metrics say does not help.
func TestTrialByCanary(t *testing.T) {
	t.Parallel()
	trials, now := NewTrials(true), time.Unix(1e9, 0)
	trials.Replicas(now, []Replica{cold}, never)
	old := Probe{Replica: cold, At: now.Add(-time.Second)}
	for n, p := range []Probe{old, {Outcome: Slow, Why: "the first token took 11s"}, {}, {Outcome: Cut}, {}, {}} {
		now = now.Add(12 * time.Second)
		if p.Replica = cold; p.At.IsZero() {
			p.At = now
		}
		trials.Scrapes(now, []Scrape{answered(idle())})
		trials.Probe(now, p)
		if open := trials.List()[0].Open(); open != (n == 5) {
			t.Errorf("after probe %d: open %v, %+v", n, open, trials.List()[0])
		}
	}
}

// TestTrialOfALife begins anew with each life, and not with each look.
func TestTrialOfALife(t *testing.T) {
	t.Parallel()
	trials, now := NewTrials(false), time.Unix(1e9, 0)
	trials.Replicas(now, []Replica{cold}, func(Replica) bool { return true })
	if !trials.List()[0].Open() {
		t.Fatal("one that was proved before is on trial")
	}
	next := cold
	next.Life = "2"
	trials.Replicas(now, []Replica{next}, never)
	if got := trials.List(); len(got) != 1 || got[0].Open() || got[0].Replica.Life != "2" {
		t.Errorf("its next life: %+v", got)
	}
	trials.Probe(now.Add(time.Second), Probe{Replica: cold, At: now.Add(time.Second)})
	trials.Scrapes(now, []Scrape{{Replica: cold, Answer: Answered, Engines: []Reading{idle()}}})
	if trials.Replicas(now, nil, never); len(trials.List()) != 0 {
		t.Errorf("one that is gone is on trial: %+v", trials.List())
	}
}
