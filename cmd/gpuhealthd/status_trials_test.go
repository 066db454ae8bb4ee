package main

import (
	"strings"
	"testing"
	"time"

	"github.com/gpuhealthd/gpuhealthd/internal/agent"
	"github.com/gpuhealthd/gpuhealthd/internal/replay"
	"github.com/gpuhealthd/gpuhealthd/serving"
)

// TestTrialsInStatus says of each replica that has not proved itself what it lacks, and
// nothing of the others.
func TestTrialsInStatus(t *testing.T) {
	of := func(name string) serving.Trial { return serving.Trial{Replica: serving.Replica{Name: name}} }
	held, unproved, failing, passed := of("held"), of("unproved"), of("failing"), of("passed")
	held.Held, held.Lacks = true, "no GPU of this node is known to be given to it"
	unproved.Passed = 1
	failing.Over, failing.Failing, failing.Why = noon, noon.Add(time.Hour), "the canary's request: cut"
	passed.Over = noon
	var text strings.Builder
	status := agent.Status{Serving: &agent.ServingStatus{At: noon, Trials: []serving.Trial{failing, held, passed, unproved}}}
	for _, trial := range append(status.Serving.Trials, of("unasked")) {
		status.Serving.Replicas = append(status.Serving.Replicas, serving.Score{Replica: trial.Replica, State: serving.Well})
	}
	servingLines(&text, status, replay.Style{})
	want := `Serving   5 replicas: 3 well, 1 held, 1 failing
          failing fails: the canary's request: cut
          held gets no requests yet: no GPU of this node is known to be given to it
          unproved has not proved that it serves: it has passed 1 of 2 times
`
	if got := text.String(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	text.Reset()
	status.Serving.Replicas[0].State = serving.Stalled
	replicaTable(&text, status)
	for _, line := range []string{"failing          stalled", "held             held", "passed           well", "unproved         well"} {
		if !strings.Contains(text.String(), line) {
			t.Errorf("no %q in\n%s", line, text.String())
		}
	}
}

// TestWhatCannotBeFollowed is said, whether anything is known or not.
func TestWhatCannotBeFollowed(t *testing.T) {
	v := &agent.ServingStatus{Troubles: []string{"the pods of this node cannot be followed: forbidden"}}
	for _, at := range []time.Time{{}, noon} {
		v.At = at
		var text strings.Builder
		if servingLines(&text, agent.Status{Serving: v}, replay.Style{}); !strings.HasSuffix(text.String(), "\n          "+v.Troubles[0]+"\n") {
			t.Errorf("got\n%s", text.String())
		}
	}
}
