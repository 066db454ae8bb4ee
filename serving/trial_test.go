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

// trial is that of one replica, and how long it has run.
type trial struct {
	Trials
	now time.Time
}

func newTrial(e Entrant) *trial {
	t := &trial{Trials{}, time.Unix(1e9, 0)}
	t.Replicas(t.now, []Entrant{e})
	return t
}

// look is the next look at its engines.
func (t *trial) look(all ...Scrape) Trial {
	t.now = t.now.Add(5 * time.Second)
	for i := range all {
		all[i].At = t.now
	}
	t.Scrapes(t.now, all)
	return t.List()[0]
}

// probe is the canary's next request.
func (t *trial) probe(o Outcome) (news bool) {
	t.now = t.now.Add(12 * time.Second)
	return t.Probe(t.now, Probe{Replica: cold, At: t.now, Outcome: o})
}

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
		"not twice in a row":     {[]Scrape{answered(idle()), silent, answered(idle())}, 0, "1 of 2"},
		"again after a failure":  {[]Scrape{answered(idle()), silent, answered(idle()), answered(idle())}, 4, ""},
		"one of two ranks stuck": {[]Scrape{ranks(1, 1), ranks(2, 1), ranks(3, 1)}, 0, "the engine 1 has requests open"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			trial, opened := newTrial(Entrant{Replica: cold}), 0
			for n, s := range c.looks {
				if trial.look(s).Open() && opened == 0 {
					opened = n + 1
				}
			}
			if got := trial.List()[0]; opened != c.opens || !strings.Contains(got.Wants(), c.lacked) || (got.Wants() == "") != got.Open() {
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

// TestTrialByNewLooks: the same look told again, beside one that is late, is not a
// second one.
func TestTrialByNewLooks(t *testing.T) {
	t.Parallel()
	trial := newTrial(Entrant{Replica: cold})
	first, late := answered(busy(5)), answered(idle())
	late.Endpoint = "http://b"
	trial.look(first, late)
	first.At, late.At = trial.now.Add(5*time.Second), trial.now
	first.Engines = []Reading{busy(9)}
	trial.Scrapes(first.At, []Scrape{first, late})
	if got := trial.List()[0]; got.Passed != 0 || got.Failed != 1 {
		t.Errorf("while one is late: %+v", got)
	}
	late.At = first.At
	trial.Scrapes(first.At, []Scrape{first, late})
	trial.Scrapes(first.At, []Scrape{first, late})
	if got := trial.List()[0]; got.Passed != 1 || got.Open() {
		t.Errorf("once it has come: %+v", got)
	}
}

// TestTrialByCanary holds a cold replica until two requests in a row were answered
// in time; what its metrics say does not help.
func TestTrialByCanary(t *testing.T) {
	t.Parallel()
	trial := newTrial(Entrant{Replica: cold, Asked: true, Held: true})
	trial.Probe(trial.now, Probe{Replica: cold, At: trial.now.Add(-time.Second)}) // of a life before
	for n, o := range []Outcome{Slow, Passed, Cut, Passed, Passed} {
		trial.look(answered(idle()))
		trial.probe(o)
		if open := trial.List()[0].Open(); open != (n == 4) {
			t.Errorf("after probe %d: open %v, %+v", n, open, trial.List()[0])
		}
	}
}

// TestTrialGoesOn: one that serves fails once it has failed twice in a row, and no
// more once it has passed as often. News is another outcome than the one before.
func TestTrialGoesOn(t *testing.T) {
	t.Parallel()
	trial := newTrial(Entrant{Replica: cold, Asked: true, Proved: true})
	for n, c := range []struct {
		o             Outcome
		news, failing bool
		share         float64
	}{
		{Passed, false, false, 1}, {Frozen, true, false, 0.5}, {Passed, true, false, 2. / 3}, {Cut, true, false, 0.5},
		{Cut, false, true, 0.4}, {Passed, true, true, 0.4}, {Passed, false, false, 0.6},
	} {
		news := trial.probe(c.o)
		got := trial.List()[0]
		if !got.Open() || news != c.news || !got.Failing.IsZero() != c.failing || *got.Canary.Share() != c.share {
			t.Errorf("after probe %d: news %t, share %v, %+v", n, news, *got.Canary.Share(), got)
		}
	}
	again := newTrial(Entrant{Replica: cold, Asked: true, Proved: true, Failing: true})
	if got := again.List()[0]; !got.Open() || got.Failing.IsZero() || got.Canary.Share() != nil {
		t.Errorf("one that failed before: %+v", got)
	}
	again.Replicas(again.now, []Entrant{{Replica: cold, Proved: true, Failing: true}})
	if got := again.List()[0]; !got.Failing.IsZero() || got.Wants() != "" {
		t.Errorf("nobody asks it any more: %+v", got)
	}
}

// TestTrialThatIsNotHeld: one that has requests in this life and has never passed fails as
// well, and one that waits for its trial does not.
func TestTrialThatIsNotHeld(t *testing.T) {
	t.Parallel()
	for _, held := range []bool{false, true} {
		trial := newTrial(Entrant{Replica: cold, Asked: true, Held: held})
		for n, o := range []Outcome{Frozen, Passed, Frozen, Frozen, Passed, Frozen, Passed, Passed} {
			trial.probe(o)
			if got := trial.List()[0]; !got.Failing.IsZero() != (!held && n >= 3 && n < 7) || got.Open() != (n == 7) {
				t.Errorf("held %t, after probe %d: %+v", held, n, got)
			}
		}
	}
	unasked := newTrial(Entrant{Replica: cold})
	unasked.look(silent)
	if got := unasked.look(silent); !got.Failing.IsZero() {
		t.Errorf("nobody asks it, and it fails: %+v", got)
	}
	before := newTrial(Entrant{Replica: cold, Asked: true, Failing: true})
	if got := before.List()[0]; got.Failing.IsZero() || got.Open() {
		t.Errorf("one that its pod calls degraded: %+v", got)
	}
}

// TestTrialOfALife begins anew with each life, and not with each look; whoever lets a
// replica have requests by hand ends it.
func TestTrialOfALife(t *testing.T) {
	t.Parallel()
	trial := newTrial(Entrant{Replica: cold, Proved: true})
	if !trial.List()[0].Open() {
		t.Fatal("one that was proved before is on trial")
	}
	next := cold
	next.Life = "2"
	trial.Replicas(trial.now, []Entrant{{Replica: next, Held: true, Lacks: "it has no endpoint"}})
	if got := trial.List(); len(got) != 1 || got[0].Open() || got[0].Replica.Life != "2" || got[0].Wants() != "it has no endpoint" {
		t.Errorf("its next life: %+v", got)
	}
	if trial.look(answered(idle())); trial.look(answered(idle())).Open() {
		t.Error("looks at the life before count")
	}
	trial.Replicas(trial.now, []Entrant{{Replica: next, Proved: true}})
	if !trial.List()[0].Open() {
		t.Error("it was let in by hand, and is on trial")
	}
	if trial.Replicas(trial.now, nil); len(trial.List()) != 0 {
		t.Errorf("one that is gone is on trial: %+v", trial.List())
	}
}
