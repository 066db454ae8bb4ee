package remediate

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/gpuhealthd/gpuhealthd/fault"
	"github.com/gpuhealthd/gpuhealthd/xidparse"
)

// TestPlanUnderRandomHands walks the plan through random faults, cures,
// administrators, restarts and outages, and holds what must hold in every
// order of them.
func TestPlanUnderRandomHands(t *testing.T) {
	for seed := range uint64(2000) {
		w := newWalk(t, seed)
		for range 60 {
			w.random()
			w.sync()
			w.check()
		}
		w.finish()
	}
}

// walk is one random history.
type walk struct {
	t      *testing.T
	seed   uint64
	rng    *rand.Rand
	plan   *Plan
	node   model
	now    time.Time
	opened int
	live   []fault.Verdict
	// foreign says that an administrator's own cordon stands on the node.
	foreign bool
	// overruled holds the incidents that an administrator has ended.
	overruled map[string]bool
}

func newWalk(t *testing.T, seed uint64) *walk {
	w := &walk{t: t, seed: seed, rng: rand.New(rand.NewPCG(seed, 7)), now: time.Unix(1_800_000_000, 0),
		plan: NewPlan(walkPolicy), overruled: map[string]bool{}}
	w.node.Observed = Observed{Exists: true, UID: "a"}
	w.plan.Sources(w.now, Sources{Polled: true})
	return w
}

var walkPolicy = Policy{Mode: Contain, Probation: time.Minute}

func (w *walk) random() {
	w.now = w.now.Add(time.Duration(w.rng.IntN(40)) * time.Second)
	switch w.rng.IntN(10) {
	case 0, 1:
		w.open()
	case 2, 3:
		w.close()
	case 4:
		w.uncordon()
	case 5:
		if !w.node.Unschedulable {
			w.node.Unschedulable, w.foreign = true, true
			w.plan.Node(w.now, w.node.Observed)
		}
	case 6:
		w.restart()
	case 7:
		w.node.offline = !w.node.offline
	default:
		w.plan.Tick(w.now)
	}
}

func (w *walk) open() {
	w.opened++
	actions := []fault.Action{fault.Record, fault.Hold, fault.Cordon, fault.Reset, fault.Reboot, fault.Replace}
	v := fault.Verdict{ID: fmt.Sprintf("b-%d", w.opened), Class: fault.XID95, Hardware: true, Opened: w.now,
		Action: actions[w.rng.IntN(len(actions))], GPUs: []fault.Device{{PCI: xidparse.PCI{Bus: uint8(w.rng.IntN(3))}}}}
	w.live = append(w.live, v)
	w.plan.Verdict(w.now, v)
}

func (w *walk) close() {
	if len(w.live) == 0 {
		return
	}
	n := w.rng.IntN(len(w.live))
	v := w.live[n]
	w.live = append(w.live[:n], w.live[n+1:]...)
	v.Closed, v.Action = true, fault.None
	w.plan.Verdict(w.now, v)
}

func (w *walk) uncordon() {
	if w.node.offline || !w.node.Unschedulable {
		return
	}
	w.node.Unschedulable, w.foreign = false, false
	for _, i := range w.plan.Incidents() {
		if i.holds() && i.Contained {
			w.overruled[i.Verdict.ID] = true
		}
	}
	w.plan.Node(w.now, w.node.Observed)
}

func (w *walk) restart() {
	data, err := w.plan.Snapshot()
	if err != nil {
		w.t.Fatal(err)
	}
	if w.plan, err = RestorePlan(walkPolicy, data, w.plan.Outbox()); err != nil {
		w.t.Fatal(err)
	}
	w.plan.Sources(w.now, Sources{Polled: true})
}

// sync applies what is desired twice: the second time must write nothing.
func (w *walk) sync() {
	w.plan.Node(w.now, w.node.apply(w.plan.Desired()))
	w.plan.Node(w.now, w.node.apply(w.plan.Desired()))
	before := w.node.writes
	w.node.apply(w.plan.Desired())
	if w.node.writes != before {
		w.fail("a settled node was written to again")
	}
}

func (w *walk) check() {
	holding := false
	for _, i := range w.plan.Incidents() {
		if i.holds() {
			holding = true
			if w.overruled[i.Verdict.ID] {
				w.fail("an overruled incident holds the node again: " + i.Verdict.ID)
			}
		}
		if i.State == Probation && i.Until.IsZero() {
			w.fail("a probation without an end")
		}
	}
	if w.node.offline {
		return
	}
	if w.foreign && !w.node.Unschedulable {
		w.fail("an administrator's cordon was released")
	}
	if !w.foreign && w.node.Unschedulable != holding {
		w.fail(fmt.Sprintf("cordoned %v, held by an incident %v", w.node.Unschedulable, holding))
	}
	if w.node.Tainted != holding || (w.node.Note != nil) != holding {
		w.fail("taint and mark do not follow the incidents")
	}
}

// finish closes everything and lets the probations pass: the node must come
// back, but for an administrator's cordon.
func (w *walk) finish() {
	w.node.offline = false
	for len(w.live) > 0 {
		w.close()
	}
	w.sync()
	w.now = w.now.Add(2 * walkPolicy.Probation)
	w.plan.Tick(w.now)
	w.sync()
	w.check()
	if n := len(w.plan.Incidents()); n > 0 {
		w.fail(fmt.Sprintf("%d incidents never ended", n))
	}
	if d := w.plan.Desired(); d.State != Healthy || w.node.Unschedulable != w.foreign {
		w.fail(fmt.Sprintf("state %s, cordoned %v, by an administrator %v", d.State, w.node.Unschedulable, w.foreign))
	}
}

func (w *walk) fail(why string) {
	w.t.Helper()
	w.t.Fatalf("seed %d: %s", w.seed, why)
}
