package request

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gpuhealthd/gpuhealthd/remediate"
)

func annotated(t *testing.T) *bench {
	b := newBench(t)
	b.Request = byAnnotation(t, b.name, shared.Cluster(t).Admin())
	return b
}

// asked waits for the request.
func (b *bench) asked(t *testing.T) (a Asked) {
	t.Helper()
	eventually(t, "the request", func() bool { return b.notes(t)[RequestAnnotation] != "" })
	must(t, json.Unmarshal([]byte(b.notes(t)[RequestAnnotation]), &a))
	return a
}

// bare fails the test unless the Node says nothing of requests.
func (b *bench) bare(t *testing.T) {
	t.Helper()
	notes := b.notes(t)
	for _, key := range []string{RequestAnnotation, ResponseAnnotation} {
		if value, there := notes[key]; there {
			t.Errorf("the Node still has %s: %s", key, value)
		}
	}
}

func TestAnnotationIsAnswered(t *testing.T) {
	tests := []struct {
		name, answer string
		result       remediate.Result
		text         string
	}{
		{"done", `{"id":"reset-1","result":"succeeded","text":"by hand"}`, remediate.Succeeded, "by hand"},
		{"failed", `{"id":"reset-1","result":"failed","text":"no luck"}`, remediate.Unsuccessful, "no luck"},
		{"held", `{"id":"reset-1","result":"refused","text":"in use"}`, remediate.Refused, "in use"},
		{"another word", `{"id":"reset-1","result":"ok"}`, remediate.Unsuccessful, `annotation gpuhealthd.io/response: result "ok" is not succeeded, failed or refused`},
		{"no JSON", `done`, remediate.Unsuccessful, "annotation gpuhealthd.io/response: invalid character"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			b := annotated(t)
			ended := b.begin(t, deed(remediate.StepReset))
			a := b.asked(t)
			if a.ID != "reset-1" || a.Kind != remediate.StepReset || len(a.GPUs) != 2 || a.Reason == "" || a.Deadline.IsZero() {
				t.Errorf("asked %+v", a)
			}
			b.annotate(t, ResponseAnnotation, test.answer)
			is(t, <-ended, test.result, test.text)
			b.bare(t)
			if want := []string{undoRequest, undoMade}; !slices.Equal(b.undo, want) {
				t.Errorf("recorded %q, want %q", b.undo, want)
			}
		})
	}
}

// What was answered to an earlier request is no answer, before or after ours.
func TestAnnotationOfAnEarlierRequest(t *testing.T) {
	b := annotated(t)
	const stale = `{"id":"reset-0","result":"failed","text":"old"}`
	b.annotate(t, ResponseAnnotation, stale)
	ended := b.begin(t, deed(remediate.StepReset))
	b.asked(t)
	eventually(t, "the old answer's end", func() bool { return b.notes(t)[ResponseAnnotation] == "" })
	b.annotate(t, ResponseAnnotation, stale)
	b.annotate(t, ResponseAnnotation, `{"id":"reset-1","result":"succeeded"}`)
	is(t, <-ended, remediate.Succeeded)
	b.bare(t)
}

func TestAnnotationHasADeadline(t *testing.T) {
	b := annotated(t)
	t.Parallel()
	d := deed(remediate.StepReset)
	d.Deadline = time.Now().Add(4 * time.Second)
	is(t, b.Do(t.Context(), d, b.record), remediate.Unsuccessful, "nobody has answered by the deadline")
	b.bare(t)
}

// An agent that is stopped leaves its request, and the next one goes on with it.
func TestAnnotationOverARestart(t *testing.T) {
	b := annotated(t)
	d := deed(remediate.StepReset)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan remediate.Outcome, 1)
	go func() { ended <- b.Do(ctx, d, b.record) }()
	b.asked(t)
	eventually(t, "the record", func() bool { b.mu.Lock(); defer b.mu.Unlock(); return len(b.undo) == 2 })
	stop()
	o := <-ended
	is(t, o, remediate.Aborted, "still stands")
	if len(o.Owed) == 0 {
		t.Error("a request that stands is not owed")
	}
	b.asked(t)

	d.Undo = b.undo
	next := b.begin(t, d)
	b.annotate(t, ResponseAnnotation, `{"id":"reset-1","result":"succeeded"}`)
	is(t, <-next, remediate.Succeeded)
	if len(b.undo) != 2 {
		t.Errorf("recorded again: %q", b.undo)
	}
	b.bare(t)
}

// The agent dies between the record and the request, or behind it; what was surely
// made and is gone is not made again.
func TestAnnotationAfterACrash(t *testing.T) {
	b := annotated(t)
	d := deed(remediate.StepReset)
	d.Undo = []string{undoRequest}
	ended := b.begin(t, d)
	b.asked(t)
	b.annotate(t, ResponseAnnotation, `{"id":"reset-1","result":"succeeded"}`)
	is(t, <-ended, remediate.Succeeded)

	d.Undo = []string{undoRequest, undoMade}
	is(t, b.Do(t.Context(), d, b.record), remediate.Undecided, "somebody has taken the request away")
	b.bare(t)
}

func TestAnnotationIsTakenAway(t *testing.T) {
	b := annotated(t)
	ended := b.begin(t, deed(remediate.StepReset))
	b.asked(t)
	eventually(t, "the record", func() bool { b.mu.Lock(); defer b.mu.Unlock(); return len(b.undo) == 2 })
	b.annotate(t, RequestAnnotation, nil)
	is(t, <-ended, remediate.Undecided)
}

// Undo may be called any number of times, and takes nobody else's request.
func TestUndoAnnotation(t *testing.T) {
	b := annotated(t)
	d := deed(remediate.StepReset)
	d.Undo = []string{undoRequest, undoMade}
	must(t, b.way.ask(t.Context(), d))
	b.annotate(t, ResponseAnnotation, `{"id":"reset-1","result":"succeeded"}`)
	for range 2 {
		must(t, b.Undo(t.Context(), d))
		b.bare(t)
	}
	const other = `{"id":"reset-7"}`
	b.annotate(t, RequestAnnotation, other)
	must(t, b.Undo(t.Context(), d))
	if b.notes(t)[RequestAnnotation] != other {
		t.Error("somebody else's request was taken away")
	}
	must(t, b.admin.CoreV1().Nodes().Delete(t.Context(), b.name, metav1.DeleteOptions{}))
	must(t, b.Undo(t.Context(), d))
}

// That a reboot was done, only the boot's id says.
func TestAnnotationForAReboot(t *testing.T) {
	b := annotated(t)
	b.boot(t, "boot-1")
	ended := b.begin(t, deed(remediate.StepReboot))
	b.asked(t)
	b.annotate(t, ResponseAnnotation, `{"id":"reboot-1","result":"succeeded"}`)
	select {
	case o := <-ended:
		t.Fatalf("the answer was believed: %+v", o)
	case <-time.After(200 * time.Millisecond):
	}
	b.boot(t, "boot-2")
	is(t, <-ended, remediate.Succeeded, "the Node tells another boot")
	b.bare(t)

	d := deed(remediate.StepReboot)
	d.BootID = "boot-2"
	b.undo = nil
	ended = b.begin(t, d)
	b.asked(t)
	b.annotate(t, ResponseAnnotation, `{"id":"reboot-1","result":"failed","text":"no power"}`)
	is(t, <-ended, remediate.Unsuccessful, "no power")
}

func TestRebootThatIsOnlyAnswered(t *testing.T) {
	b := annotated(t)
	t.Parallel()
	b.boot(t, "boot-1")
	d := deed(remediate.StepReboot)
	d.Deadline = time.Now().Add(4 * time.Second)
	ended := b.begin(t, d)
	b.asked(t)
	b.annotate(t, ResponseAnnotation, `{"id":"reboot-1","result":"succeeded"}`)
	is(t, <-ended, remediate.Unsuccessful, "the Node still tells the same boot")
	b.bare(t)
}

func TestAnnotationCannotBeMade(t *testing.T) {
	b := annotated(t)
	is(t, byAnnotation(t, b.name, nobody(t)).Do(t.Context(), deed(remediate.StepReset), b.record), remediate.Unavailable, "forbidden")

	d := deed(remediate.StepReset)
	d.Deadline = time.Now().Add(300 * time.Millisecond)
	is(t, byAnnotation(t, "no-such-node", shared.Cluster(t).Admin()).Do(t.Context(), d, b.record), remediate.Unsuccessful, "it could not be asked for by the deadline", "there is no such Node")

	b.full = true
	is(t, b.Do(t.Context(), d, b.record), remediate.Unavailable, "write down that something is asked for: no space left")
	b.bare(t)
}

type children struct {
	quiet, resumed atomic.Bool
	stuck          error
}

func (c *children) Quiet(context.Context) error { c.quiet.Store(true); return c.stuck }
func (c *children) Resume()                     { c.resumed.Store(true) }

// Whoever resets would be refused because of our own children.
func TestChildrenLetGo(t *testing.T) {
	b := annotated(t)
	c := &children{stuck: errors.New("nvmlInit_v2 does not return")}
	b.Children = c
	must(t, b.way.ask(t.Context(), deed(remediate.StepReset))) // by an agent before us
	is(t, b.Do(t.Context(), deed(remediate.StepReset), b.record), remediate.Refused, "our own processes do not let go: nvmlInit_v2 does not return")
	b.bare(t)
	if !c.resumed.Load() || len(b.undo) > 0 {
		t.Errorf("resumed %v, recorded %q", c.resumed.Load(), b.undo)
	}

	c = &children{}
	b.Children = c
	ended := b.begin(t, deed(remediate.StepReset))
	b.asked(t)
	if !c.quiet.Load() || c.resumed.Load() {
		t.Errorf("while it is asked for: quiet %v, resumed %v", c.quiet.Load(), c.resumed.Load())
	}
	b.annotate(t, ResponseAnnotation, `{"id":"reset-1","result":"succeeded"}`)
	is(t, <-ended, remediate.Succeeded)
	if !c.resumed.Load() {
		t.Error("the children are not resumed")
	}
}
