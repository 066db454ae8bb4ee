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
	servingLines(&text, agent.Status{Serving: &agent.ServingStatus{At: noon, Trials: []serving.Trial{failing, held, passed, unproved}}}, replay.Style{})
	want := `Serving   0 replicas
          failing fails: the canary's request: cut
          held gets no requests yet: no GPU of this node is known to be given to it
          unproved has not proved that it serves: it has passed 1 of 2 times
`
	if got := text.String(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
