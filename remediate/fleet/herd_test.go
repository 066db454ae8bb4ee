package fleet

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/gpuhealthd/gpuhealthd/fault"
	"github.com/gpuhealthd/gpuhealthd/remediate"
	"github.com/gpuhealthd/gpuhealthd/remediate/guard"
	"github.com/gpuhealthd/gpuhealthd/remediate/kube"
	"github.com/gpuhealthd/gpuhealthd/test/kubetest"
	"github.com/gpuhealthd/gpuhealthd/xidparse"
)

// The herd: so many agents, of which so many have a hard fault and so many a soft
// one, all at once.
const (
	agents = 200
	hard   = 8
	soft   = 18
)

// TestTwoHundredAgentsOnOneBudget: every agent has its own plan, its own client and
// a token that is bound to its Node, under the rights and the policies of deploy/. The API server answers 429, 409 and 500, loses
// requests and answers, and is cut off from some for a while. The budget is held at
// every single version of the Nodes, all hard faults are contained, and in the end
// everybody serves.
func TestTwoHundredAgentsOnOneBudget(t *testing.T) {
	cluster := kubetest.Start(t)
	key := deployed(t, cluster)
	w := newWeather(t, cluster.Admin())
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	defer func() { cancel(); wg.Wait() }()
	var herd []*beast
	for n := range agents {
		name := fmt.Sprintf("node-%03d", n)
		cluster.CreateNode(t, name)
		label(t, cluster, name, map[string]string{remediate.LabelState: string(remediate.Healthy)})
		herd = append(herd, newBeast(t, w, cluster.ServiceAccount(t, key, name), name))
	}
	marks := watchMarks(ctx, t, cluster)
	for n, b := range herd {
		switch {
		case n < hard:
			b.open(fault.XID95, true)
		case n < hard+soft:
			b.open(fault.XID74, false)
		}
		wg.Go(func() { b.run(ctx) })
	}
	w.rough.Store(true)
	await(t, "all hard faults are contained", func() bool { return count(herd[:hard], (*beast).wasContained) == hard })
	await(t, "some faults were acted on", func() bool { return count(herd, (*beast).acted) >= 4 })
	w.part(herd, true)
	await(t, "more faults were acted on, by those who are not cut off", func() bool { return count(herd, (*beast).acted) >= 8 })
	w.part(herd, false)
	w.rough.Store(false)
	t.Logf("in the storm: %d of %d requests spoilt, %d faults acted on, %d nodes by leave at most", w.spoilt.Load(), w.all.Load(), count(herd, (*beast).acted), marks.most.Load())
	defer func() {
		for _, b := range herd[:hard+soft] {
			if state := b.state.Load(); t.Failed() && state != nil && !b.serves() {
				t.Logf("%s: %s", b.name, *state)
			}
		}
	}()
	await(t, "everybody's fault was acted on", func() bool { return count(herd[:hard+soft], (*beast).acted) == hard+soft })
	await(t, "everybody serves again", func() bool { return count(herd, (*beast).serves) == agents })
	budget := int64(tight().Of(agents))
	t.Logf("at most %d nodes were out or repaired by leave, and %d may be; %d versions of Nodes seen, %d requests", marks.most.Load(), budget, marks.versions.Load(), w.all.Load())
	if most := marks.most.Load(); most > budget || most == 0 {
		t.Errorf("%d nodes by leave at once, and the budget is %d", most, budget)
	}
	if marks.stray.Load() > 0 {
		t.Errorf("%d times a Node was closed for a soft fault, and its mark told of no leave", marks.stray.Load())
	}
}

// tight is a budget that so few faults use up.
func tight() guard.Share { return guard.Share{Least: 1, Percent: 5} }

func count(herd []*beast, is func(*beast) bool) (n int) {
	for _, b := range herd {
		if is(b) {
			n++
		}
	}
	return n
}

// await is patient: what is waited for takes as long as the machine is slow.
func await(t *testing.T, what string, done func() bool) {
	t.Helper()
	for limit := time.Now().Add(2 * time.Minute); !done(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(limit) {
			t.Fatalf("not within two minutes: %s", what)
		}
	}
}

// marks counts the Nodes whose mark tells of a leave, at each of their versions, in
// the order in which they came to be.
type marks struct {
	most, versions, stray atomic.Int64
}

func watchMarks(ctx context.Context, t *testing.T, cluster *kubetest.Cluster) *marks {
	t.Helper()
	m := &marks{}
	by := map[string]bool{}
	watchNodes(ctx, t, cluster, func(node *corev1.Node) {
		m.versions.Add(1)
		meta := &metav1.PartialObjectMetadata{ObjectMeta: node.ObjectMeta}
		if by[node.Name] = leave(meta); !by[node.Name] {
			delete(by, node.Name)
			if node.Spec.Unschedulable && node.Labels[remediate.LabelFault] == string(fault.XID74) {
				m.stray.Add(1)
			}
		}
		m.most.Store(max(m.most.Load(), int64(len(by))))
	})
	return m
}

// watchNodes shows each version of each Node, one at a time, until ctx is done.
func watchNodes(ctx context.Context, t *testing.T, cluster *kubetest.Cluster, show func(*corev1.Node)) {
	t.Helper()
	watch, err := kubernetes.NewForConfigOrDie(cluster.Admin()).CoreV1().Nodes().Watch(ctx, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		for event := range watch.ResultChan() {
			if node, ok := event.Object.(*corev1.Node); ok {
				show(node)
			}
		}
	}()
}

// beast is one agent: plan, Node and group, in one goroutine.
type beast struct {
	name   string
	plan   *remediate.Plan
	node   *kube.Node
	fleet  *Fleet
	rng    *rand.Rand
	fault  *fault.Verdict
	deeds  map[string]bool
	closed time.Time // when the node was seen closed
	rest   time.Time // until when it asks for nothing, since that is held

	contained, over, serving atomic.Bool
	state                    atomic.Pointer[string] // for people
}

func newBeast(t *testing.T, w *weather, config tokened, name string) *beast {
	t.Helper()
	node, err := kube.New(kube.Options{Name: name, Config: w.behind(config, name), Log: slog.New(slog.NewTextHandler(io.Discard, nil))})
	if err != nil {
		t.Fatal(err)
	}
	rules := guard.Default()
	rules.Budget = tight()
	rules.Rates, rules.Ramp = nil, guard.Pace{Every: 200 * time.Millisecond, Limit: 5 * time.Second}
	p := remediate.DefaultRepair()
	p.Guards, p.Probation = &rules, 200*time.Millisecond
	p.Drain.Mode, p.Reset.Mode = remediate.MeansPods, remediate.MeansCommand
	b := &beast{name: name, node: node, plan: remediate.NewPlan(p), deeds: map[string]bool{}, rng: rand.New(rand.NewPCG(1, uint64(len(name))+uint64(name[5])<<16+uint64(name[6])<<8+uint64(name[7])))}
	b.fleet = newAsker(t, w.behind(config, name), name, func(o *Options) { o.Rules, o.Label, o.Namespace = rules, "", "gpuhealthd" }).Fleet
	b.fleet.times = times{lease: 6 * time.Second, leave: 2 * time.Second, write: 2 * time.Second, survey: 3 * time.Second}
	b.fleet.lease.time = b.fleet.times.lease
	now := time.Now()
	b.plan.Boot(now, "boot")
	b.plan.Sources(now, remediate.Sources{Polled: true})
	return b
}

func (b *beast) open(class fault.Class, hard bool) {
	b.fault = &fault.Verdict{ID: b.name + "-1", Class: class, Hard: hard, Hardware: true, Opened: time.Now(), Action: fault.Reset,
		Drain: fault.DrainNow, GPUs: []fault.Device{{PCI: xidparse.PCI{Bus: 1}, UUID: "GPU-1"}}}
	b.plan.Verdict(time.Now(), *b.fault)
}

// run is what an agent's core, applier, guardian and doer do, one after the other.
func (b *beast) run(ctx context.Context) {
	for ctx.Err() == nil {
		b.plan.Tick(time.Now())
		b.plan.Written()
		b.apply(ctx)
		b.ask(ctx)
		b.act()
		state := fmt.Sprintf("leave %+v, asks %v, incidents %+v", b.plan.Leave(), b.plan.Asks(), b.plan.Incidents())
		b.state.Store(&state)
		select {
		case <-ctx.Done():
		case <-time.After(time.Duration(100+b.rng.IntN(200)) * time.Millisecond):
		}
	}
}

// apply writes what the plan wants; a write is never longer under way than the
// group is told.
func (b *beast) apply(ctx context.Context) {
	if b.fault == nil && b.serving.Load() {
		return
	}
	try, cancel := context.WithTimeout(ctx, 1500*time.Millisecond)
	defer cancel()
	seen, err := b.node.Apply(try, b.plan.Desired())
	if err != nil {
		return
	}
	b.plan.Node(time.Now(), seen)
	if seen.Tainted && b.closed.IsZero() {
		b.closed = time.Now()
		b.contained.Store(true)
	}
	b.serving.Store(!seen.Unschedulable && !seen.Tainted && len(b.plan.Incidents()) == 0)
}

func (b *beast) ask(ctx context.Context) {
	l := b.plan.Leave()
	if l != nil && !l.Seen {
		return
	}
	_ = b.fleet.Settle(ctx, l != nil) // tried again the next time
	asks := b.plan.Asks()
	if len(asks) == 0 || time.Now().Before(b.rest) {
		return
	}
	answer, _ := b.fleet.Ask(ctx, asks, l != nil)
	if len(answer.Granted) == 0 {
		b.rest = time.Now().Add(time.Duration(300+b.rng.IntN(700)) * time.Millisecond)
	}
	b.plan.Replied(time.Now(), answer)
	b.apply(ctx)
	if l = b.plan.Leave(); l != nil && l.Seen {
		_ = b.fleet.Settle(ctx, true)
	}
}

// act does deeds at once, and ends the fault once its repair was done.
func (b *beast) act() {
	now := time.Now()
	if d := b.plan.Deed(); d != nil && !b.deeds[d.ID] {
		b.deeds[d.ID] = true
		b.plan.Done(now, remediate.Outcome{Deed: d.ID, Result: remediate.Succeeded})
		if d.Kind == remediate.StepReset {
			b.over.Store(true)
			v := *b.fault
			v.Closed, v.Action = true, fault.None
			b.plan.Verdict(now, v)
		}
	}
	b.plan.Occupied(time.Now(), remediate.Occupancy{At: time.Now()})
}

func (b *beast) wasContained() bool { return b.contained.Load() }
func (b *beast) acted() bool        { return b.over.Load() }
func (b *beast) serves() bool       { return b.serving.Load() }
