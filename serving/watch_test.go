package serving

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"
)

var start = time.Date(2026, 11, 30, 3, 0, 0, 0, time.UTC)

func value(v float64) *float64 { return &v }

// scrape is one of a replica on one GPU that has a request open.
func scrape(name string, at time.Duration, progress float64) Scrape {
	return Scrape{Replica: Replica{Name: name, Life: "1", GPUs: []string{"GPU-" + name}}, Endpoint: "http://" + name,
		At: start.Add(at), Engines: []Reading{{Model: "llama", Running: value(1), Waiting: value(0), Progress: value(progress)}}}
}

// node plays one look every 5 s: the GPU of each replica is quiet.
func node(w *Watch, at time.Duration, scrapes ...Scrape) []Look {
	did := map[string]Activity{}
	for _, s := range scrapes {
		did["GPU-"+s.Replica.Name] = Activity{At: start.Add(at), Busy: value(0)}
	}
	w.Polled(start.Add(at), did)
	w.Scraped(scrapes, nil)
	return w.Looks(start.Add(at))
}

// What begins anew is not what stood still before.
func TestStartedAnew(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*Scrape)
		want   State
		anew   bool
	}{
		{"nothing", func(*Scrape) {}, Stalled, false},
		{"a counter falls", func(s *Scrape) { s.Engines[0].Progress = value(3) }, Well, true},
		{"another counter falls", func(s *Scrape) { s.Engines[0].Finished = value(0) }, Well, true},
		{"another process", func(s *Scrape) { s.Started = start.Add(20 * time.Second) }, Well, true},
		{"the same process by another clock", func(s *Scrape) { s.Started = start.Add(10 * time.Millisecond) }, Stalled, false},
		{"another life of the container", func(s *Scrape) { s.Replica.Life = "2" }, Well, true},
		{"another pod of that name", func(s *Scrape) { s.Replica.UID = "other" }, Well, false},
		{"the counter is not told", func(s *Scrape) { s.Engines[0].Progress = nil }, Unclear, false},
		{"a counter that is no number", func(s *Scrape) { *s.Engines[0].Finished = -1 }, Stalled, false},
		{"progress", func(s *Scrape) { s.Engines[0].Progress = value(8) }, Well, false},
		{"one finished", func(s *Scrape) { s.Engines[0].Finished = value(3) }, Well, false},
		{"paused", func(s *Scrape) { yes := true; s.Engines[0].Paused = &yes }, Well, false},
		{"done", func(s *Scrape) { s.Engines[0].Running = value(0) }, Well, false},
		{"not known what is open", func(s *Scrape) { s.Engines[0].Running, s.Engines[0].Waiting = nil, nil }, Unclear, false},
		{"silent", func(s *Scrape) { s.Answer, s.Engines = Silent, nil }, Stalled, false},
		{"dead", func(s *Scrape) { no := false; s.Answer, s.Engines, s.Alive = Refused, nil, &no }, Unclear, false},
		{"nobody listens", func(s *Scrape) { s.Answer, s.Engines = Refused, nil }, Unclear, false},
		{"no connection", func(s *Scrape) { s.Answer, s.Engines = Unreached, nil }, Doubtful, false},
		{"not understood", func(s *Scrape) { s.Answer, s.Engines = Failed, nil }, Doubtful, false},
		{"of another engine", func(s *Scrape) { s.Answer, s.Engines = Foreign, nil }, Doubtful, false},
		{"engine without a label", func(s *Scrape) { s.Engines[0].Engine = "1" }, Well, false},
	} {
		w := New(Config{})
		look := func(at time.Duration, change func(*Scrape)) Look {
			s := scrape("a", at, 7)
			s.Started, s.Engines[0].Finished = start, value(2)
			change(&s)
			return node(w, at, s)[0]
		}
		for at := time.Duration(0); at < 20*time.Second; at += 5 * time.Second {
			look(at, func(*Scrape) {})
		}
		if l := look(20*time.Second, c.change); l.State != c.want || l.Anew != c.anew {
			t.Errorf("%s: %v, anew %v; want %v, %v", c.name, l.State, l.Anew, c.want, c.anew)
		}
	}
}

// What was said too long ago is not known any more.
func TestStale(t *testing.T) {
	w := New(Config{})
	for at := time.Duration(0); at <= 20*time.Second; at += 5 * time.Second {
		node(w, at, scrape("a", at, 7))
	}
	for _, c := range []struct {
		at   time.Duration
		want State
	}{{20 * time.Second, Stalled}, {35 * time.Second, Stalled}, {36 * time.Second, Unclear}} {
		if l := w.Looks(start.Add(c.at))[0]; l.State != c.want {
			t.Errorf("%v after the start: %v, want %v", c.at, l.State, c.want)
		}
	}
}

// Pods come and go, engines get other labels, GPUs other UUIDs: what is kept is of
// those that are there.
func TestMemoryIsBounded(t *testing.T) {
	w := New(Config{})
	for n := range 1000 {
		at := time.Duration(n) * 5 * time.Second
		s := scrape(fmt.Sprintf("pod-%d", n), at, 7)
		s.Replica.UID = fmt.Sprint(n)
		stays := scrape("stays", at, 7)
		stays.Engines[0].Engine = fmt.Sprint(n)
		node(w, at, s, stays)
	}
	if len(w.replicas) != 2 || len(w.gpus) > 2+stalePeriods+1 {
		t.Errorf("%d replicas and %d GPUs are kept", len(w.replicas), len(w.gpus))
	}
	for p, e := range w.replicas[ID{Name: "stays"}].engines() {
		if len(p.Engines) != 1 || len(e.window) > windowReadings {
			t.Errorf("%d engines are kept, with %d readings", len(p.Engines), len(e.window))
		}
	}
}

// What is saved of replicas that get on does not change from look to look.
func TestSavedIsStill(t *testing.T) {
	w := New(Config{})
	var before string
	for n := range 20 {
		at := time.Duration(n) * 5 * time.Second
		node(w, at, scrape("a", at, float64(n+1)))
		data, err := json.Marshal(w)
		if err != nil {
			t.Fatal(err)
		}
		if n > 0 && string(data) != before {
			t.Fatalf("look %d: %s became %s", n, before, data)
		}
		before = string(data)
	}
}

// A watch that was saved goes on: what has got on meanwhile is no stall.
func TestSavedAndRestored(t *testing.T) {
	for _, c := range []struct {
		name     string
		progress float64
		want     State
	}{{"as it was", 7, Stalled}, {"got on", 8, Well}, {"started anew", 0, Well}} {
		w := New(Config{})
		for at := time.Duration(0); at <= 20*time.Second; at += 5 * time.Second {
			node(w, at, scrape("a", at, 7))
		}
		data, err := json.Marshal(w)
		if err != nil {
			t.Fatal(err)
		}
		restored := New(Config{})
		if err := json.Unmarshal(data, restored); err != nil {
			t.Fatal(err)
		}
		node(restored, 40*time.Second, scrape("a", 40*time.Second, c.progress))
		if l := node(restored, 45*time.Second, scrape("a", 45*time.Second, c.progress))[0]; l.State != c.want {
			t.Errorf("%s: %v, want %v", c.name, l.State, c.want)
		}
	}
}

// What was not saved by a watch is refused.
func TestRestoreRefuses(t *testing.T) {
	for _, bad := range []string{`{`, `7`, `[{"Name":"a"}]`, `[{"Name":"a","Said":{"Endpoints":{"u":null}}}]`,
		`[{"Name":"a","Said":{"Endpoints":{"u":{"Engines":{"0":null}}}}}]`} {
		if err := json.Unmarshal([]byte(bad), New(Config{})); err == nil {
			t.Errorf("%s: taken", bad)
		}
	}
}

// Metrics that hang are no frozen engine's while a canary gets whole answers.
func TestCanaryAnswersForIt(t *testing.T) {
	for _, c := range []struct {
		name    string
		outcome Outcome
		life    string
		at      time.Duration
		want    State
	}{
		{"whole", Passed, "1", 20 * time.Second, Well},
		{"cut", Cut, "1", 20 * time.Second, Stalled},
		{"of another life", Passed, "2", 20 * time.Second, Stalled},
		{"too long ago", Passed, "1", 5 * time.Second, Stalled},
	} {
		w := New(Config{})
		node(w, 0, scrape("a", 0, 7))
		for at := 5 * time.Second; at <= 20*time.Second; at += 5 * time.Second {
			s := scrape("a", at, 7)
			s.Answer, s.Engines = Silent, nil
			node(w, at, s)
		}
		w.Probed(Probe{Replica: Replica{Name: "a", Life: c.life}, At: start.Add(c.at), Outcome: c.outcome})
		if l := w.Looks(start.Add(22 * time.Second))[0]; l.State != c.want {
			t.Errorf("%s: %v, want %v", c.name, l.State, c.want)
		}
	}
	w := New(Config{})
	for at := time.Duration(0); at <= 20*time.Second; at += 5 * time.Second {
		node(w, at, scrape("a", at, 7))
	}
	w.Probed(Probe{Replica: Replica{Name: "a", Life: "1"}, At: start.Add(20 * time.Second)})
	if l := w.Looks(start.Add(22 * time.Second))[0]; l.State != Stalled {
		t.Errorf("its metrics tell of a request that does not get on: %v, want it stalled", l.State)
	}
}

// What is not told is not closed: only a count of none ends a stall without progress.
func TestClosed(t *testing.T) {
	for _, c := range []struct {
		name             string
		running, waiting *float64
		want             bool
	}{
		{"nothing open", value(0), value(0), true},
		{"an empty queue, and no count of what runs", nil, value(0), true},
		{"some wait", nil, value(2), false},
		{"nothing told", nil, nil, false},
	} {
		w := New(Config{})
		node(w, 0, scrape("a", 0, 7))
		s := scrape("a", 5*time.Second, 7)
		s.Engines[0].Running, s.Engines[0].Waiting = c.running, c.waiting
		if l := node(w, 5*time.Second, s)[0]; l.Closed != c.want {
			t.Errorf("%s: closed %t", c.name, l.Closed)
		}
	}
}
