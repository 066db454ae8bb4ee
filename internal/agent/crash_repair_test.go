package agent

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/gpuhealthd/gpuhealthd/remediate"
)

// TestCrashAnywhereInARepair kills the agent before and after every save, every
// write to the Node, every event and every effect of every deed of a history, and
// lets another go on from the file as it was in that moment. What is left in the
// end is as without a crash, but for this: a deed that is not resumable and was
// begun is never done again, so it is as if whoever did it had said that he does
// not know how it ended.
func TestCrashAnywhereInARepair(t *testing.T) {
	for _, h := range histories {
		t.Run(h.name, func(t *testing.T) {
			t.Parallel()
			known := &references{t: t, history: h}
			_, points := known.without()
			if points < 40 {
				t.Fatalf("only %d points to crash at", points)
			}
			for at := 1; at <= points; at++ {
				got, lapsed, _ := h.live(t, nil, at)
				known.compare(t, fmt.Sprintf("crash at point %d of %d", at, points), got, lapsed)
			}
		})
	}
}

// live plays a history with crashes at points, in which nobody shall know how some
// deeds ended. It gives what is left, over which deeds agents have died, and how
// many points there were.
func (h history) live(t *testing.T, unknown []lapse, at ...int) (left legacy, lapsed []lapse, points int) {
	synctest.Test(t, func(t *testing.T) {
		c := newCourse(t, memoryDir(t), h)
		c.machine.lapses, c.crash.at = unknown, at
		c.start()
		c.live()
		left, lapsed, points = c.legacy(), c.lapsed, c.crash.n
		c.stop()
	})
	return left, lapsed, points
}

// references are what a history leaves without a crash, by the deeds of which
// nobody knows how they ended.
type references struct {
	t       *testing.T
	history history

	mu   sync.Mutex
	left map[string]legacy
}

// without plays the history itself.
func (r *references) without() (left legacy, points int) {
	left, _, points = r.history.live(r.t, nil)
	r.check(left, nil)
	r.left = map[string]legacy{fmt.Sprint([]lapse(nil)): left}
	return left, points
}

func (r *references) of(lapsed []lapse) legacy {
	r.mu.Lock()
	defer r.mu.Unlock()
	key := fmt.Sprint(lapsed)
	if _, ok := r.left[key]; !ok {
		left, _, _ := r.history.live(r.t, lapsed)
		r.check(left, lapsed)
		r.left[key] = left
	}
	return r.left[key]
}

// compare wants what is left after a crash to be what is left without, and holds
// what must hold in any case.
func (r *references) compare(t *testing.T, when string, got legacy, lapsed []lapse) {
	t.Helper()
	if diff := cmp.Diff(r.of(lapsed), got); diff != "" {
		t.Errorf("%s, nobody knows the end of %v (-want +got):\n%s", when, lapsed, diff)
	}
}

// check holds a course without a crash to the ladder: the reset of which nobody
// knows counts, and the reboot comes next; after the reboot of which nobody knows,
// nothing but a replacement.
func (r *references) check(left legacy, lapsed []lapse) {
	r.t.Helper()
	want := r.history.ends
	for _, l := range lapsed {
		switch {
		case strings.Contains(l.Deed, "-reboot-"):
			want = remediate.Failed
		case want == remediate.Quarantined:
			want = remediate.Healthy // blocked no more: the reboot that comes next needs no free GPU
		}
	}
	serves := want == remediate.Healthy || want == remediate.Suspect
	if o := left.Outcome; o.State != want || o.Node.Unschedulable == serves || o.Node.Tainted == serves {
		r.t.Errorf("nobody knows the end of %v: the node is %s, %+v, want %s", lapsed, o.State, o.Node, want)
	}
	if (len(left.Tried) > 0) != (want == remediate.Failed) {
		r.t.Errorf("nobody knows the end of %v: %s, tried %q", lapsed, left.Outcome.State, left.Tried)
	}
	if len(left.Wrong) > 0 {
		r.t.Errorf("nobody knows the end of %v: %q", lapsed, left.Wrong)
	}
	for _, l := range lapsed {
		if slices.Contains(left.Deeds, l.Deed) != l.Done {
			r.t.Errorf("%+v, and what was done is %q", l, left.Deeds)
		}
	}
	for n, c := range left.Cards {
		if !c.Persistence || c.Resets > 1 {
			r.t.Errorf("nobody knows the end of %v: GPU %d is left as %+v", lapsed, n, c)
		}
	}
}
