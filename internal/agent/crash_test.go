package agent

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gpuhealthd/gpuhealthd/collector/nvml"
	"github.com/gpuhealthd/gpuhealthd/remediate"
)

// outcome is all that is left in the world when a history is over.
type outcome struct {
	Node     remediate.Observed
	State    remediate.NodeState
	Service  []string // how the Node went in and out of it
	Events   []string // told, each once
	Open     []string
	Ended    []string
	Messages []string
}

// TestCrashAnywhere kills the agent before and after every save, every write to
// the Node and every event of a history, starts another on the file as it was
// in that moment, and wants the same outcome as without a crash.
func TestCrashAnywhere(t *testing.T) {
	want, points := live(t, 0)
	if points < 40 {
		t.Fatalf("only %d points to crash at", points)
	}
	for at := 1; at <= points; at++ {
		got, _ := live(t, at)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("crash at point %d of %d (-want +got):\n%s", at, points, diff)
		}
	}
}

// live plays a history with a crash at a point, or none at 0. It gives the
// outcome and how many points there were.
func live(t *testing.T, at int) (o outcome, points int) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		c := &crasher{s: s, at: []int{at}}
		s.actuator, s.onSave = c, func() { c.point() }
		s.start()
		for _, happens := range containment(s) {
			c.restarted()
			happens()
		}
		c.restarted()
		time.Sleep(probation)
		synctest.Wait()
		o, points = s.outcome(), c.n
		s.stop()
	})
	return o, points
}

// containment is a program's fault, a memory error that is repaired, and a GPU that
// falls off the bus while the node is on probation, and comes back.
func containment(s *stage) []func() {
	hear := func(texts ...string) func() { return func() { s.hear(texts...) } }
	lost := func(g *nvml.GPU) { g.Lost = g.Index == 5 }
	var steps []func()
	polls := func(n int, changes ...func(*nvml.GPU)) {
		for range n {
			steps = append(steps, func() { s.polls(1, changes...) })
		}
	}
	polls(2)
	steps = append(steps, hear(xid(1, "31, pid=7, name=a, MMU Fault"), xid(1, "43, pid=7, name=a, Ch 00000010")))
	steps = append(steps, hear(xid(2, "94, pid=7, name=a, Contained: SM (0x1). RST: No, D-RST: No")))
	steps = append(steps, hear(xid(2, uncontained)), hear(xid(2, resetAsked)))
	polls(3, wants(2, 1))
	steps = append(steps, hear(xid(2, nothingMore)))
	polls(5)
	steps = append(steps, hear(xid(5, "79, pid=7, GPU has fallen off the bus."), xid(5, "154, GPU recovery action changed from 0x0 (None) to 0x2 (Node Reboot Required)")))
	polls(4, lost)
	polls(5)
	for range 3 {
		steps = append(steps, func() { time.Sleep(probation / 2); synctest.Wait() })
		polls(1)
	}
	return steps
}

func (s *stage) outcome() outcome {
	node, desired := s.world.state()
	if node.Note != nil { // a crash takes time
		note := *node.Note
		note.Since, note.Until = time.Time{}, time.Time{}
		node.Note = &note
	}
	o := outcome{Node: node, State: desired.State, Service: s.world.history, Events: s.world.told()}
	slices.Sort(o.Events)
	status := s.Status()
	for _, i := range status.Incidents {
		o.Open = append(o.Open, fmt.Sprintf("%s %s", i.Verdict.ID, i.State))
	}
	for _, i := range status.History {
		o.Ended = append(o.Ended, i.Verdict.ID+" "+string(i.Verdict.Class))
	}
	for _, e := range s.world.events {
		o.Messages = append(o.Messages, e.Message)
	}
	slices.Sort(o.Messages)
	return o
}
