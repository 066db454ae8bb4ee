package serving

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Passes is how many times in a row a replica has to pass.
const Passes = 2

// Trial is how far one life of a replica has proved that it serves.
type Trial struct {
	Replica Replica   `json:"replica"`
	Since   time.Time `json:"since"`
	// Passed is how many times in a row, Passes when it is over.
	Passed int `json:"passed"`
	// Over is when it had passed often enough; zero before.
	Over time.Time `json:"over,omitzero"`
	// Why is what the last look lacked, empty where it was passed.
	Why string `json:"why,omitempty"`
}

// Open says whether the replica may have requests.
func (t Trial) Open() bool { return !t.Over.IsZero() }

// Trials follow the replicas of a node. A replica passes by whole answers to a
// canary; where there is none, by what its engines tell: tokens that come while
// requests are open, or engines with nothing to do that answer. That a process
// answers is not enough, if it has requests and gets nowhere.
type Trials struct {
	canary bool
	trials map[string]*Trial
	before map[looked]Reading
}

// looked is an engine behind an endpoint.
type looked struct{ replica, life, endpoint, engine string }

// NewTrials makes them; canary says whether one asks the replicas.
func NewTrials(canary bool) *Trials {
	return &Trials{canary: canary, trials: map[string]*Trial{}, before: map[looked]Reading{}}
}

// Replicas takes in which there are. A life that has no trial gets one, unless
// proved says that it has been through it before.
func (t *Trials) Replicas(now time.Time, all []Replica, proved func(Replica) bool) {
	here := map[string]bool{}
	for _, r := range all {
		here[r.Name] = true
		if have := t.trials[r.Name]; have != nil && have.Replica.UID == r.UID && have.Replica.Life == r.Life {
			have.Replica = r
			continue
		}
		begun := &Trial{Replica: r, Since: now, Why: "nothing was seen of it yet"}
		if proved(r) {
			begun.Passed, begun.Over, begun.Why = Passes, now, ""
		}
		t.trials[r.Name] = begun
	}
	for name := range t.trials {
		if !here[name] {
			delete(t.trials, name)
		}
	}
}

// Probe takes in how a canary's request ended.
func (t *Trials) Probe(now time.Time, p Probe) {
	have := t.trials[p.Replica.Name]
	if !t.canary || have == nil || have.Replica.UID != p.Replica.UID || have.Replica.Life != p.Replica.Life || p.At.Before(have.Since) {
		return
	}
	why := ""
	if p.Outcome != Passed {
		why = strings.TrimSuffix(fmt.Sprintf("the canary's request: %s, %s", p.Outcome, p.Why), ", ")
	}
	have.look(now, why)
}

// Scrapes takes in one look at all engines.
func (t *Trials) Scrapes(now time.Time, all []Scrape) {
	next := map[looked]Reading{}
	lacks := map[string]string{}
	for _, s := range all {
		if why := t.scrape(s, next); why != "" || lacks[s.Replica.Name] == "" {
			lacks[s.Replica.Name] = why
		}
	}
	t.before = next
	for name, why := range lacks {
		if have := t.trials[name]; have != nil && !t.canary {
			have.look(now, why)
		}
	}
}

// scrape says what one endpoint lacks, and remembers its engines.
func (t *Trials) scrape(s Scrape, next map[looked]Reading) (why string) {
	if s.Answer != Answered {
		return "its metrics do not come: " + s.Why
	}
	for _, r := range s.Engines {
		at := looked{s.Replica.Name, s.Replica.Life, s.Endpoint, r.Engine}
		last, seen := t.before[at]
		next[at] = r
		if lack := r.lacks(last, seen); lack != "" {
			why = lack
		}
	}
	return why
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
	if t.Open() {
		return
	}
	if t.Why = why; why != "" {
		t.Passed = 0
		return
	}
	if t.Passed++; t.Passed >= Passes {
		t.Over = now
	}
}

// List gives the trials, by name.
func (t *Trials) List() []Trial {
	all := make([]Trial, 0, len(t.trials))
	for _, one := range t.trials {
		all = append(all, *one)
	}
	slices.SortFunc(all, func(a, b Trial) int { return strings.Compare(a.Replica.Name, b.Replica.Name) })
	return all
}
