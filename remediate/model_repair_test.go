package remediate

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/gpuhealthd/gpuhealthd/fault"
	"github.com/gpuhealthd/gpuhealthd/xidparse"
)

// TestRepairUnderRandomHands walks a plan that repairs through random faults,
// cures, refusals, holders, silences, administrators, outages, crashes and boots,
// under random policies, and holds what must hold in every order of them.
func TestRepairUnderRandomHands(t *testing.T) {
	seeds := uint64(12000)
	if testing.Short() {
		seeds /= 10
	}
	for seed := range seeds {
		w := newWorld(t, seed)
		for range 5 + seed%26 {
			w.random()
			w.settle()
		}
		w.finish()
	}
}

// world is one random history of a node with three GPUs.
type world struct {
	t      *testing.T
	seed   uint64
	rng    *rand.Rand
	policy Policy
	plan   *Plan
	now    time.Time
	node   Observed
	// offline: the API server is away. foreign: an administrator's own cordon stands.
	offline, foreign bool
	store            string
	boot             int
	faults           []*ailment
	opened           int
	// disk is what was written last.
	disk   []byte
	onDisk known
	// held are the GPUs that somebody holds, heard what the plan was last told.
	held  [len(gpus)]bool
	heard *Occupancy
	// silent: whoever does the deeds does not answer.
	silent bool
	hand   hand
	log    deedLog
	// confirmed are the incidents whose diagnosis has passed, or need not.
	confirmed map[string]bool
	// states are those that the open incidents were in last.
	states map[string]NodeState
	// taken: somebody is out of rotation.
	taken bool
	past  []string
}

// ailment is a fault, and the repair that ends it; empty is none.
type ailment struct {
	fault.Verdict
	cure StepKind
}

var gpus = [...]fault.Device{
	{PCI: xidparse.PCI{Bus: 1}, UUID: "GPU-1"}, {PCI: xidparse.PCI{Bus: 2}, UUID: "GPU-2"}, {PCI: xidparse.PCI{Bus: 3}, UUID: "GPU-3"},
}

func newWorld(t *testing.T, seed uint64) *world {
	w := &world{t: t, seed: seed, rng: rand.New(rand.NewPCG(seed, 6)), now: time.Unix(1_800_000_000, 0),
		node: Observed{Exists: true, UID: "a"}, states: map[string]NodeState{}, confirmed: map[string]bool{}}
	w.policy = DefaultRepair()
	w.policy.Drain.Mode = pick(w, MeansOff, MeansPods, MeansPods, MeansCommand)
	w.policy.Drain.AtDeadline = pick(w, Wait, Force)
	w.policy.Restart.Mode = pick(w, MeansOff, MeansPods, MeansPods)
	w.policy.Reset.Mode = pick(w, MeansOff, MeansCommand, MeansCommand, MeansAnnotation, MeansResource)
	w.policy.Reset.OnHolders = pick(w, HolderHold, HolderReboot)
	w.policy.Reboot.Mode = pick(w, MeansOff, MeansCommand, MeansCommand, MeansAnnotation)
	w.policy.Diag.Mode, w.policy.Diag.Unproven = pick(w, MeansOff, MeansCommand, MeansCommand), pick(w, DiagHold, DiagAccept)
	w.plan = NewPlan(w.policy)
	w.log = newDeedLog(w)
	w.start()
	return w
}

func pick[T any](w *world, of ...T) T { return of[w.rng.IntN(len(of))] }

// start is what an agent does first.
func (w *world) start() {
	w.plan.Boot(w.now, fmt.Sprintf("boot-%d", w.boot))
	w.sources()
	w.plan.Tick(w.now)
}

func (w *world) sources() {
	w.plan.Sources(w.now, Sources{Polled: true, GPUs: gpus[:], Store: w.store})
}

func (w *world) random() {
	w.pass(time.Duration(w.rng.IntN(120)) * time.Second)
	switch w.rng.IntN(21) {
	case 0, 1:
		w.open()
	case 2:
		w.change()
	case 3:
		w.close(w.rng.IntN(len(w.faults) + 1))
	case 4:
		w.uncordon()
	case 5:
		w.administer()
	case 6:
		w.crash()
	case 7:
		w.offline = !w.offline
	case 8:
		w.silent = !w.silent
	case 9:
		w.held[w.rng.IntN(len(gpus))] = w.rng.IntN(2) == 0
	case 10:
		w.reboot()
	case 11:
		if w.store == "" {
			w.save()
		}
		w.store = pick(w, "", "", "the disk is full")
		w.sources()
	case 12:
		w.pass(pick(w, 5*time.Minute, 31*time.Minute, 2*time.Hour, 8*24*time.Hour))
	case 13, 14, 15, 16:
		w.occupy()
	case 17:
		w.ask()
	default:
		w.work()
	}
}

// pass lets time go on, in which the plan is ticked.
func (w *world) pass(d time.Duration) {
	w.now = w.now.Add(d)
	w.plan.Tick(w.now)
	w.settle()
}

func (w *world) open() {
	w.opened++
	v := fault.Verdict{ID: fmt.Sprintf("b-%d", w.opened), Hardware: true, Opened: w.now, Diag: 2, Radius: fault.GPU,
		Class:  pick(w, fault.XID95, fault.XID95, fault.XID64, fault.XID74),
		Action: pick(w, fault.Record, fault.Cordon, fault.Reset, fault.Reset, fault.Reset, fault.Reboot, fault.Replace),
		Drain:  pick(w, fault.DrainNow, fault.DrainNow, fault.DrainWhenIdle), Hard: w.rng.IntN(2) == 0,
		GPUs: []fault.Device{gpus[w.rng.IntN(len(gpus))]}}
	if v.Action == fault.Record || v.Action == fault.Cordon {
		v.Later, v.Drain, v.Hard = pick(w, fault.None, fault.Reset, fault.Reset, fault.Diag), fault.DrainWhenIdle, false
	}
	if w.rng.IntN(10) == 0 {
		v.GPUs = nil // a fault of the node
	}
	v.Affected = v.GPUs
	b := &ailment{v, pick(w, StepReset, StepReset, StepReboot, "")}
	if w.rng.IntN(5) == 0 {
		b = w.stall(v)
	}
	w.faults = append(w.faults, b)
	w.plan.Verdict(w.now, b.Verdict)
}

// change makes a fault worse, better, or the symptom of another.
func (w *world) change() {
	if len(w.faults) == 0 {
		return
	}
	n := w.rng.IntN(len(w.faults))
	b := w.faults[n]
	if w.rng.IntN(4) == 0 { // it was only a symptom
		b.Root = "another"
		w.faults = slices.Delete(w.faults, n, n+1)
		w.plan.Verdict(w.now, b.Verdict)
		return
	}
	if !b.Hardware {
		b.Workloads = pick(w, b.Workloads, b.Workloads[:1], []fault.Workload{{Name: "default/b", UID: fmt.Sprintf("u-%d", w.now.Unix())}})
		b.Action = pick(w, fault.Record, fault.Restart, fault.Restart)
		w.plan.Verdict(w.now, b.Verdict)
		return
	}
	b.Action = pick(w, fault.Cordon, fault.Reset, fault.Reboot, fault.Replace)
	w.plan.Verdict(w.now, b.Verdict)
}

func (w *world) close(n int) {
	if n >= len(w.faults) {
		return
	}
	v := w.faults[n].Verdict
	w.faults = slices.Delete(w.faults, n, n+1)
	v.Closed, v.Action, v.Later = true, fault.None, fault.None
	w.plan.Verdict(w.now, v)
}

func (w *world) uncordon() {
	if w.offline || !w.node.Unschedulable {
		return
	}
	w.node.Unschedulable, w.foreign = false, false
	w.log.opened()
	w.plan.Node(w.now, w.node)
}

// administer lets a person cordon the node, or delete it and make it anew.
func (w *world) administer() {
	switch {
	case w.offline:
	case w.rng.IntN(3) == 0:
		w.node, w.foreign = Observed{Exists: true, UID: w.node.UID + "'"}, false
		w.log.opened()
		w.plan.Node(w.now, w.node)
	case !w.node.Unschedulable:
		w.node.Unschedulable, w.foreign = true, true
		w.plan.Node(w.now, w.node)
	}
}

// crash restarts the agent from what it has written last; who did its deed dies
// with it, and may have done it.
func (w *world) crash() {
	w.settle()
	if w.store == "" {
		w.save()
	} else {
		w.states = map[string]NodeState{}
		w.log.known = w.onDisk // what came since is forgotten with the agent
	}
	if w.hand.deed.ID != "" && w.hand.deed.Kind != StepDrain && w.rng.IntN(2) == 0 {
		w.effect(w.hand.deed)
	}
	outbox := w.plan.Outbox()
	if w.rng.IntN(4) == 0 && len(w.faults) > 0 {
		w.now = w.now.Add(time.Second)
		w.plan.Tick(w.now) // decided, and lost with the agent
	}
	var err error
	if w.plan, err = RestorePlan(w.policy, w.disk, outbox); err != nil {
		w.t.Fatal(err)
	}
	w.hand, w.heard = hand{}, nil
	w.start()
	w.settle()
	w.judge()
}

// save writes the plan down.
func (w *world) save() {
	data, err := w.plan.Snapshot()
	if err != nil {
		w.t.Fatal(err)
	}
	w.disk, w.onDisk = data, w.log.known
}

// judge tells the plan what it may have forgotten.
func (w *world) judge() {
	for _, i := range w.plan.Incidents() {
		if !slices.ContainsFunc(w.faults, func(b *ailment) bool { return b.ID == i.Verdict.ID }) && !i.Verdict.Closed {
			v := i.Verdict
			v.Closed, v.Action, v.Later = true, fault.None, fault.None
			w.plan.Verdict(w.now, v)
		}
	}
	for _, b := range w.faults {
		w.plan.Verdict(w.now, b.Verdict)
	}
}

// reboot is the host's, whoever asked for it.
func (w *world) reboot() {
	w.boot++
	for n := range w.held {
		w.held[n] = false
	}
	w.log.drained = false
	w.crash()
}

// occupy tells the plan who holds the GPUs that it asks about.
func (w *world) occupy() {
	o := Occupancy{At: w.now, Holders: []Holder{}}
	for n, held := range w.held {
		if held {
			o.Holders = append(o.Holders, Holder{GPU: gpus[n].UUID, Pod: "default/p"})
		}
	}
	if w.rng.IntN(8) == 0 {
		o.Unknown = "the kubelet does not answer"
	}
	w.heard = &o
	w.plan.Occupied(w.now, o)
	w.settle()
}

// settle writes the plan down, brings the Node to what is desired, has the deed
// begun, and looks at the state of things.
func (w *world) settle() {
	if w.store == "" {
		w.plan.Written()
	}
	for n := 0; n < 2 && !w.offline && (n == 0 || w.node.Unschedulable != w.plan.holding()); n++ {
		if d := w.plan.Desired(); !d.Look {
			w.node = Settle(d, w.node)
		}
		w.plan.Node(w.now, w.node)
		if w.store == "" {
			w.plan.Written()
		}
	}
	w.plan.state.Outbox = nil
	w.take()
	w.check()
	w.checkDiag()
}

func (w *world) check() {
	for _, i := range w.plan.state.Open {
		w.transition(i)
	}
	if d := w.plan.state.Deed; d != nil && !d.Undoing && !w.now.Before(d.Deadline.Add(grace)) {
		w.fail("a deed outlives its deadline: " + d.ID)
	}
	w.checkRestart()
	if w.offline {
		return
	}
	if w.plan.bound() && w.log.shut && !w.node.Unschedulable {
		w.fail("the node serves while it is repaired: " + w.plan.state.Deed.ID)
	}
	if w.foreign && !w.node.Unschedulable {
		w.fail("an administrator's cordon was released")
	}
	if holding := w.plan.holding(); !w.foreign && w.node.Unschedulable != holding {
		w.fail(fmt.Sprintf("cordoned %v, held by an incident %v", w.node.Unschedulable, holding))
	}
}

// transition checks that an incident has gone by an exit of its state.
func (w *world) transition(i *Incident) {
	was, ok := w.states[i.Verdict.ID]
	w.states[i.Verdict.ID] = i.State
	if ok && was != i.State && !connected(was, i.State, i.Released) {
		w.fail(fmt.Sprintf("%s went from %s to %s", i.Verdict.ID, was, i.State))
	}
}

// connected says whether there is a way from one state to another. Between two
// looks an incident may pass through one that is not seen.
func connected(from, to NodeState, released bool) bool {
	for _, r := range States() {
		for _, e := range r.Exits {
			if r.State == from && (e.To == to || e.To == Quarantined && connectedAtOnce(e.To, to)) {
				return true
			}
		}
	}
	return released && to == Suspect
}

func connectedAtOnce(from, to NodeState) bool {
	for _, r := range States() {
		if r.State == from {
			return slices.ContainsFunc(r.Exits, func(e Exit) bool { return e.To == to })
		}
	}
	return false
}

func (w *world) fail(why string) {
	w.t.Helper()
	for _, line := range w.past {
		w.t.Log(line)
	}
	for _, i := range w.plan.state.Open {
		w.t.Logf("%s %s action %s, later %s, drain %s: %v", i.Verdict.ID, i.State, i.Verdict.Action, i.Verdict.Later, i.Verdict.Drain, i.Steps)
	}
	w.t.Logf("%+v", w.policy)
	w.t.Fatalf("seed %d: %s", w.seed, why)
}
