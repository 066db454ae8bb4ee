package agent

import (
	"crypto/sha256"
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
			points := known.without()
			if len(points) < 25 {
				t.Fatalf("only %d points to crash at", len(points))
			}
			every := 1
			if testing.Short() {
				every = 10
			}
			for i := 0; i < len(points); i += every {
				at := points[i]
				got, lapsed, _ := h.live(t, nil, at)
				known.compare(t, fmt.Sprintf("crash at point %d", at), got, lapsed)
			}
		})
	}
}

// TestCrashTwiceInARepair kills the agent that comes after a crash too, as soon as
// it puts back what the first has changed, and later.
func TestCrashTwiceInARepair(t *testing.T) {
	for _, h := range histories {
		if h.name != "a reset heals" && h.name != "asked of others, in vain" {
			continue
		}
		t.Run(h.name, func(t *testing.T) {
			t.Parallel()
			known := &references{t: t, history: h}
			points := known.without()
			for i := 0; i < len(points); i += 8 {
				for again := 1 + i/8%4; again < 28; again += 4 {
					got, lapsed, _ := h.live(t, nil, points[i], again)
					known.compare(t, fmt.Sprintf("crash at point %d, and again at the %d. after it", points[i], again), got, lapsed)
				}
			}
		})
	}
}

// live plays a history with crashes at points, in which nobody shall know how some
// deeds ended. It gives what is left, over which deeds agents have died, and the
// points that were survived and at which anything had changed.
func (h history) live(t *testing.T, unknown []lapse, at ...int) (left legacy, lapsed []lapse, points []int) {
	synctest.Test(t, func(t *testing.T) {
		c := newCourse(t, memoryDir(t), h)
		c.machine.lapses, c.crash.at = unknown, at
		if len(at) == 0 && unknown == nil {
			var last [sha256.Size]byte
			c.crash.passed = func() {
				if now := c.print(); now != last {
					points, last = append(points, c.crash.n), now
				}
			}
		}
		c.start()
		c.live()
		left, lapsed = c.legacy(), c.lapsed
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

// without plays the history itself, and gives the points to crash at.
func (r *references) without() (points []int) {
	left, _, points := r.history.live(r.t, nil)
	if r.check(left, nil); r.t.Failed() {
		r.t.FailNow()
	}
	r.left = map[string]legacy{fmt.Sprint([]lapse(nil)): left}
	return points
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
		t.Fatalf("%s, nobody knows the end of %v (-want +got):\n%s", when, lapsed, diff)
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
		if serves && slices.ContainsFunc(c.Pods, func(p pod) bool { return p.Out }) {
			r.t.Errorf("nobody knows the end of %v: GPU %d serves, and its pods get no requests: %+v", lapsed, n, c.Pods)
		}
		if !c.Persistence || c.Resets > 1 {
			r.t.Errorf("nobody knows the end of %v: GPU %d is left as %+v", lapsed, n, c)
		}
	}
}
