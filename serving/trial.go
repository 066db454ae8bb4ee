package serving

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// Passes is how many times in a row a replica has to pass, and how many times in a row
// one that serves has to fail before that is held of it.
const Passes = 2

// Entrant is a replica as it comes to its trial.
type Entrant struct {
	Replica Replica
	// Asked says that a canary asks it, and then nothing else counts.
	Asked bool
	// Held says that it gets no requests before the trial is over.
	Held bool
	// Proved says that this life was through its trial before; Failing that it was
	// held to fail then.
	Proved, Failing bool
	// Lacks is why nobody can tell anything of it; empty where somebody can.
	Lacks string
}

// Trial is how far one life of a replica has proved that it serves, and whether it
// still does.
type Trial struct {
	Replica Replica   `json:"replica"`
	Since   time.Time `json:"since"`
	// Held says that it gets no requests before the trial is over.
	Held bool `json:"held,omitempty"`
	// Passed and Failed are how many times in a row it did either.
	Passed int `json:"passed"`
	Failed int `json:"failed,omitempty"`
	// Over is when it had passed often enough; zero before.
	Over time.Time `json:"over,omitzero"`
	// Failing is since when it has requests and fails; zero where it does not. Only a
	// canary says so.
	Failing time.Time `json:"failing,omitzero"`
	// Why is what the last look lacked, empty where it was passed. Lacks is why nobody
	// looks.
	Why   string `json:"why,omitempty"`
	Lacks string `json:"lacks,omitempty"`
	// Canary is nil where no canary asks.
	Canary *Recent `json:"canary,omitempty"`

	// words are why it does not pass, as its pod says it.
	words words
	// looked is when its engines were looked at, before what they said then.
	looked time.Time
	before map[engineAt]Reading
}

// engineAt is an engine behind an endpoint.
type engineAt struct{ endpoint, engine string }

// of says whether the trial is one of this life.
func (t *Trial) of(r Replica) bool { return t.Replica.ID() == r.ID() && t.Replica.Life == r.Life }

// Waits says whether the replica gets no requests before its trial is over.
func (t Trial) Waits() bool { return t.Held && !t.Open() }

// Open says whether the trial is over.
func (t Trial) Open() bool { return !t.Over.IsZero() }

// Wants is why the replica cannot be counted on yet, in words; empty where it can.
func (t Trial) Wants() string {
	switch {
	case t.Open() && t.Failing.IsZero():
		return ""
	case t.Lacks != "":
		return t.Lacks
	case t.Why != "":
		return t.Why
	}
	return fmt.Sprintf("it has passed %d of %d times", t.Passed, Passes)
}

// Stands says how the replica stands, in words.
func (t Trial) Stands() string {
	switch {
	case t.Waits():
		return "gets no requests yet"
	case !t.Failing.IsZero():
		return "fails"
	case !t.Open():
		return "has not proved that it serves"
	}
	return "serves"
}

// Trials follow the replicas of a node. A replica passes by whole answers to a
// canary; where none asks it, by what its engines tell: tokens that come while
// requests are open, or engines with nothing to do that answer. That a process
// answers is not enough, if it has requests and gets nowhere.
type Trials map[string]*Trial

// Replicas takes in which there are. A life that has no trial gets one.
func (t Trials) Replicas(now time.Time, all []Entrant) {
	here := map[string]bool{}
	for _, e := range all {
		name := e.Replica.Name
		here[name] = true
		if have := t[name]; have == nil || !have.of(e.Replica) {
			t[name] = begin(now, e)
		}
		t[name].enter(now, e)
	}
	maps.DeleteFunc(t, func(name string, _ *Trial) bool { return !here[name] })
}

func begin(now time.Time, e Entrant) *Trial {
	t := &Trial{Replica: e.Replica, Since: now, Why: "nothing was seen of it yet"}
	if e.Failing && !e.Held {
		t.Failing = now
	}
	return t
}

// enter takes in how the replica stands now. Whoever has let it have requests by hand
// has ended its trial.
func (t *Trial) enter(now time.Time, e Entrant) {
	t.Replica, t.Held, t.Lacks = e.Replica, e.Held, e.Lacks
	switch {
	case !e.Asked:
		t.Canary, t.Failing = nil, time.Time{}
	case t.Canary == nil:
		t.Canary = &Recent{}
	}
	if e.Proved && !t.Open() {
		t.Passed, t.Over, t.Why = Passes, now, ""
	}
}

// Probe takes in how a canary's request ended. News says that the one before ended
// otherwise, or that it is the first and has not passed.
func (t Trials) Probe(now time.Time, p Probe) (news bool) {
	have := t[p.Replica.Name]
	if have == nil || have.Canary == nil || !have.of(p.Replica) || p.At.Before(have.Since) {
		return false
	}
	last, _ := have.Canary.Last() // Passed where there was none
	recent := *have.Canary
	recent.take(p)
	have.Canary = &recent
	why := ""
	if p.Outcome != Passed {
		why = strings.TrimSuffix(fmt.Sprintf("the canary's request: %s, %s", p.Outcome, p.Why), ", ")
	}
	have.look(now, why)
	return last != p.Outcome
}

// Scrapes takes in one look at all engines.
func (t Trials) Scrapes(now time.Time, all []Scrape) {
	of := map[string][]Scrape{}
	for _, s := range all {
		if have := t[s.Replica.Name]; have != nil && have.of(s.Replica) && have.Canary == nil && !have.Open() {
			of[s.Replica.Name] = append(of[s.Replica.Name], s)
		}
	}
	for name, scrapes := range of {
		t[name].scrapes(now, scrapes)
	}
}

// scrapes takes in the scrapes of all endpoints, once each of them is a new one.
func (t *Trial) scrapes(now time.Time, all []Scrape) {
	oldest := slices.MinFunc(all, func(a, b Scrape) int { return a.At.Compare(b.At) }).At
	if !oldest.After(t.looked) {
		return
	}
	t.looked = oldest
	why, next := "", map[engineAt]Reading{}
	for _, s := range all {
		if s.Answer != Answered {
			why = "its metrics do not come: " + s.Why
		}
		for _, r := range s.Engines {
			at := engineAt{s.Endpoint, r.Engine}
			last, seen := t.before[at]
			next[at] = r
			if lack := r.lacks(last, seen); lack != "" {
				why = lack
			}
		}
	}
	t.before = next
	t.look(now, why)
}

// lacks says why an engine has not shown that it works, since the reading before.
func (r Reading) lacks(last Reading, seen bool) string {
	name := "the engine"
	if r.Engine != "" {
		name += " " + r.Engine
	}
	switch {
	case r.Paused != nil && *r.Paused:
		return name + " is paused"
	case r.Running == nil && r.Waiting == nil:
		return name + " does not tell its requests; only a canary could"
	case !r.open():
		return ""
	case seen && r.counters().anyAbove(last.counters()):
		return ""
	}
	return name + " has requests open and no token has come"
}

// look counts one look, of which why is what it lacked.
func (t *Trial) look(now time.Time, why string) {
	t.words.take(why)
	if t.Why = why; why == "" {
		t.Passed, t.Failed = t.Passed+1, 0
	} else {
		t.Passed, t.Failed = 0, t.Failed+1
	}
	switch {
	case t.Passed >= Passes:
		if t.Failing, t.words = (time.Time{}), (words{}); !t.Open() {
			t.Over = now
		}
	case t.Failed >= Passes && t.Canary != nil && !t.Waits() && t.Failing.IsZero():
		t.Failing = now
	}
}

// List gives the trials, by name.
func (t Trials) List() []Trial {
	all := make([]Trial, 0, len(t))
	for _, one := range t {
		all = append(all, *one)
	}
	slices.SortFunc(all, func(a, b Trial) int { return strings.Compare(a.Replica.Name, b.Replica.Name) })
	return all
}
