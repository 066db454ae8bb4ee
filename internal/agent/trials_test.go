package agent

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/gpuhealthd/gpuhealthd/fault"
	"github.com/gpuhealthd/gpuhealthd/remediate"
	"github.com/gpuhealthd/gpuhealthd/serving"
	"github.com/gpuhealthd/gpuhealthd/test/golden"
)

// salon has replicas of serving engines, and the ways to them.
type salon struct {
	looks  chan []serving.Scrape
	probes chan serving.Probe
	// troubles are those of the watches.
	troubles []string

	mu       sync.Mutex
	entrants []serving.Entrant
	stands   []serving.Stand
	may      func(serving.Replica) bool
}

// llama is a replica on a GPU that is never faulty here.
var llama = serving.Replica{Name: "default/llama-0", UID: "uid-llama", Life: "1", GPUs: []string{uuid(3)}}

// hosts gives a stage replicas, of whom one is held until it has proved itself.
func (s *stage) hosts() *salon {
	h := &salon{looks: make(chan []serving.Scrape), probes: make(chan serving.Probe),
		entrants: []serving.Entrant{{Replica: llama, Asked: true, Held: true}}}
	s.adjust = func(o *Options) {
		o.Replicas, o.Rotation, o.Canary = h, h, canaryOf{h}
		o.Policy.Replicas = time.Hour
	}
	return h
}

// Troubles implements Replicas.
func (h *salon) Troubles() []string { return h.troubles }

func (h *salon) Run(ctx context.Context, out func([]serving.Scrape, []serving.Job)) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case scrapes := <-h.looks:
			out(scrapes, nil)
		}
	}
}

func (h *salon) Entrants() []serving.Entrant {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.entrants)
}

func (h *salon) Settle(_ context.Context, all []serving.Stand) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.stands = all
	return nil
}

// canaryOf asks them.
type canaryOf struct{ *salon }

func (c canaryOf) Run(ctx context.Context, may func(serving.Replica) bool, out func(serving.Probe)) {
	c.mu.Lock()
	c.may = may
	c.mu.Unlock()
	for {
		select {
		case <-ctx.Done():
			return
		case p := <-c.probes:
			out(p)
		}
	}
}

// look is a look at all replicas, which say nothing to do.
func (h *salon) look() {
	none := 0.0
	h.looks <- []serving.Scrape{{Replica: llama, Endpoint: "http://llama/metrics", At: time.Now(), Engines: []serving.Reading{{Model: "llama", Running: &none, Waiting: &none, Progress: &none}}}}
	synctest.Wait()
}

// probe is one request of the canary.
func (h *salon) probe(o serving.Outcome) {
	h.probes <- serving.Probe{Replica: llama, Endpoint: "http://llama", At: time.Now(), Took: 2 * time.Second, Outcome: o,
		FirstToken: time.Second, Tokens: 33}
	synctest.Wait()
}

// stand is how a replica was made to stand last, and why.
func (h *salon) stand() serving.Stand {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.stands) != 1 {
		return serving.Stand{Why: "there is none"}
	}
	return h.stands[0]
}

// TestTrial: a replica stands on probation until two requests in a row were answered;
// it is degraded once two in a row were not, and each change is logged, once.
func TestTrial(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, log := newStage(t), &sink{}
		s.logs = slog.NewJSONHandler(log, nil)
		h := s.hosts()
		s.start()
		s.polls(1)
		h.look()
		if got := h.stand(); got.Standing != serving.OnProbation || !strings.Contains(got.Why, "two requests") {
			t.Errorf("at first it stands %+v", got)
		}
		h.probe(serving.Slow)
		h.probe(serving.Passed)
		h.look()
		if got := h.stand(); got.Standing != serving.OnProbation {
			t.Errorf("after one pass it stands %+v", got)
		}
		h.probe(serving.Passed)
		if got := h.stand(); got.Standing != serving.InService || got.Why != "" {
			t.Errorf("after two it stands %+v", got)
		}
		h.probe(serving.Cut)
		h.probe(serving.Cut)
		if got := h.stand(); got.Standing != serving.Degraded {
			t.Errorf("after two answers that were cut it stands %+v", got)
		}
		h.look()
		score := s.Status().Serving.Replicas[0]
		if got := score.Parts[serving.PartCanary]; got != 0.4 || *score.Value != 0.4 {
			t.Errorf("its score: %+v", score)
		}
		if n := log.count("a canary's requests end otherwise"); n != 3 { // slow, passed, cut
			t.Errorf("%d changes were logged", n)
		}
		surface := describe(t, s.metrics)
		s.stop()
		if problems, err := testutil.GatherAndLint(s.metrics); err != nil || len(problems) > 0 {
			t.Errorf("%v, %v", problems, err)
		}
		golden.Check(t, "testdata/metrics-serving.txt", ofServing(surface))
	})
}

// ofServing are the metrics of a surface that are about replicas.
func ofServing(surface string) string {
	var kept strings.Builder
	ours := false
	for line := range strings.Lines(surface) {
		if !strings.HasPrefix(line, " ") {
			ours = strings.Contains(line, "_serving_") || strings.Contains(line, "_canary_")
		}
		if ours {
			kept.WriteString(line)
		}
	}
	return kept.String()
}

// TestTrialWithNobodyToTell says what is missing, once it has been for a while.
func TestTrialWithNobodyToTell(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		h := s.hosts()
		h.entrants = []serving.Entrant{{Replica: llama, Held: true, Lacks: "no GPU was given to it"}}
		s.start()
		s.polls(1)
		see := func() {
			h.looks <- nil
			synctest.Wait()
		}
		see()
		first := h.stand()
		time.Sleep(time.Minute)
		see()
		if got := h.stand(); first.Standing != serving.OnProbation || strings.Contains(first.Why, "no GPU") || !strings.Contains(got.Why, "no GPU was given to it") {
			t.Errorf("it stands %+v, then %+v", first, got)
		}
		s.stop()
	})
}

// TestProbationWaitsForReplicas: the node goes back to service when its replicas have
// proved that they serve, and not before it was looked at them.
func TestProbationWaitsForReplicas(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		h := s.hosts()
		s.start()
		s.polls(2)
		s.hear(xid(2, uncontained), xid(2, resetAsked))
		s.polls(2, wants(2, 1))
		s.hear(xid(2, nothingMore))
		s.polls(4)
		time.Sleep(2 * probation)
		s.polls(1)
		if !s.world.cordoned() || !s.world.said("ProbationExtended") {
			t.Errorf("nobody has looked at the replicas, and the node is %+v", s.world.node)
		}
		h.look()
		h.probe(serving.Passed)
		s.polls(1)
		if !s.world.cordoned() {
			t.Error("one pass is enough")
		}
		h.probe(serving.Passed)
		s.polls(1)
		if s.world.cordoned() || !s.world.said("ProbationServed") {
			t.Errorf("the replica has proved itself, and the node is %+v", s.world.node)
		}
		s.stop()
	})
}

// TestWhoMayBeAsked: while pods are moved only those who have no requests.
func TestWhoMayBeAsked(t *testing.T) {
	t.Parallel()
	var none *asking
	serves, unknown := serving.Replica{Name: "serves"}, serving.Replica{Name: llama.Name, UID: llama.UID, Life: "2"}
	known := map[aLife]bool{lifeOf(llama): true, lifeOf(serves): false}
	for name, c := range map[string]struct {
		a                  *asking
		mayHeld, mayServes bool
	}{
		"before anything is known": {none, false, false},
		"as a rule":                {&asking{held: known}, true, true},
		"while pods are moved":     {&asking{moving: true, held: known}, true, false},
	} {
		if c.a.may(llama) != c.mayHeld || c.a.may(serves) != c.mayServes {
			t.Errorf("%s: may ask the one %t, the other %t", name, c.a.may(llama), c.a.may(serves))
		}
		if c.a.may(unknown) {
			t.Errorf("%s: may ask a life that is not on trial yet", name)
		}
	}
}

// TestInRadius has whom a deed may move: nobody lets them have requests meanwhile.
func TestInRadius(t *testing.T) {
	t.Parallel()
	gpus := func(n int) []fault.Device { return []fault.Device{{UUID: uuid(n)}} }
	for name, c := range map[string]struct {
		deed remediate.Deed
		in   bool
	}{
		"a drain of its GPU":     {remediate.Deed{Kind: remediate.StepDrain, GPUs: gpus(3)}, true},
		"a drain of another":     {remediate.Deed{Kind: remediate.StepDrain, GPUs: gpus(4)}, false},
		"a drain of the node":    {remediate.Deed{Kind: remediate.StepDrain, Whole: true}, true},
		"its restart":            {remediate.Deed{Kind: remediate.StepRestart, Workloads: []fault.Workload{{Name: llama.Name, UID: llama.UID}}}, true},
		"the restart of another": {remediate.Deed{Kind: remediate.StepRestart, GPUs: gpus(3), Workloads: []fault.Workload{{Name: llama.Name, UID: "before"}}}, false},
		"a diagnosis of its GPU": {remediate.Deed{Kind: remediate.StepDiag, GPUs: gpus(4)}, false},
		"a drain that is undone": {remediate.Deed{Kind: remediate.StepDrain, GPUs: gpus(4), Undoing: true}, false},
	} {
		if got := inRadius(c.deed, llama); got != c.in {
			t.Errorf("%s: %t", name, got)
		}
	}
	mig := serving.Replica{GPUs: []string{"MIG-1"}}
	if !inRadius(remediate.Deed{Kind: remediate.StepDrain, GPUs: gpus(3)}, mig) {
		t.Error("one on a MIG instance could be moved")
	}
	for kind, want := range map[remediate.StepKind]bool{remediate.StepDrain: true, remediate.StepRestart: true, remediate.StepReset: false, remediate.StepDiag: false} {
		if moves(remediate.Deed{Kind: kind}) != want || moves(remediate.Deed{Kind: kind, Undoing: true}) {
			t.Errorf("%s moves pods: %t", kind, !want)
		}
	}
}

// TestWhatCannotBeFollowedIsInTheStatus, before anything is known and later.
func TestWhatCannotBeFollowedIsInTheStatus(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		h := s.hosts()
		h.troubles = []string{"the pods of this node cannot be followed: forbidden"}
		s.start()
		s.polls(1)
		if got := s.Status().Serving; len(got.Troubles) != 1 || !got.At.IsZero() {
			t.Errorf("at first: %+v", got)
		}
		h.look()
		if got := s.Status().Serving; len(got.Troubles) != 1 || got.At.IsZero() {
			t.Errorf("after a look: %+v", got)
		}
		s.stop()
	})
}

// begun notes which deeds are done, each until it is called off.
type begun struct{ deeds chan string }

func (b begun) Do(ctx context.Context, d remediate.Deed, _ remediate.Owe) remediate.Outcome {
	b.deeds <- d.ID
	<-ctx.Done()
	return remediate.Outcome{Result: remediate.Aborted}
}

func (b begun) Undo(context.Context, remediate.Deed) error { return nil }

// TestARestartOfBeforeWaitsForALook: what an agent has on disk of a replica is no reason
// to restart it before this life has looked at it once.
func TestARestartOfBeforeWaitsForALook(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		h, hand := s.hosts(), begun{make(chan string, 10)}
		hosts := s.adjust
		s.adjust = func(o *Options) {
			hosts(o)
			o.Policy = remediate.DefaultRepair()
			o.Doers = map[remediate.StepKind]Doer{remediate.StepRestart: hand}
		}
		s.make()
		s.core.plan.Verdict(time.Now(), fault.Verdict{ID: "stall-1", Class: fault.StalledEngine, Action: fault.Restart,
			Workloads: []fault.Workload{fault.Workload(llama.ID())}, GPUs: []fault.Device{{UUID: uuid(3), PCI: mustPCI(address(3))}}, Opened: time.Now()})
		s.run()
		for life := range 2 {
			s.polls(1)
			if n := len(hand.deeds); n != 0 {
				t.Fatalf("life %d: %d restarts begun before anybody has looked", life, n)
			}
			h.look()
			if n := len(hand.deeds); n != 1 {
				t.Fatalf("life %d: %d restarts begun after a look", life, n)
			}
			<-hand.deeds
			s.stop()
			s.start()
		}
		s.stop()
	})
}

// TestAStalledReplicaHasNoRequests while its restart is held, here by a deed that is under
// way, and has them again once it gets on; one on probation goes on to be.
func TestAStalledReplicaHasNoRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		h, hand := s.hosts(), begun{make(chan string, 10)}
		h.entrants = []serving.Entrant{{Replica: llama, Held: true}}
		hosts := s.adjust
		s.adjust = func(o *Options) {
			hosts(o)
			o.Policy = remediate.DefaultRepair()
			o.Doers = map[remediate.StepKind]Doer{remediate.StepRestart: hand}
		}
		s.make()
		stall := func(id string, r serving.Replica, gpu int, a fault.Action) {
			s.core.plan.Verdict(time.Now(), fault.Verdict{ID: id, Class: fault.StalledEngine, Action: a, Closed: a == fault.None,
				Workloads: []fault.Workload{fault.Workload(r.ID())}, GPUs: []fault.Device{{UUID: uuid(gpu), PCI: mustPCI(address(gpu))}}, Opened: time.Now()})
		}
		stall("first", serving.Replica{Name: "default/other", UID: "uid-other"}, 1, fault.Restart)
		stall("second", llama, 3, fault.Restart)
		s.run()
		s.polls(1)
		h.look()
		if got := h.stand(); got.Standing != serving.OnProbation {
			t.Errorf("on probation it stands %+v", got)
		}
		for range 2 {
			s.polls(1)
			h.look()
		}
		if got := h.stand(); got.Standing != serving.Stuck || got.Why == "" {
			t.Errorf("while another is restarted it stands %+v", got)
		}
		s.stop()
		s.make()
		stall("second", llama, 3, fault.None)
		s.run()
		s.polls(1)
		h.entrants = []serving.Entrant{{Replica: llama, Proved: true}}
		h.look()
		if got := h.stand(); got.Standing != serving.InService {
			t.Errorf("once it gets on it stands %+v", got)
		}
		s.stop()
	})
}
