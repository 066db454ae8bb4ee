package fleet

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/gpuhealthd/gpuhealthd/fault"
	"github.com/gpuhealthd/gpuhealthd/remediate"
	"github.com/gpuhealthd/gpuhealthd/remediate/guard"
	"github.com/gpuhealthd/gpuhealthd/test/kubetest"
	"github.com/gpuhealthd/gpuhealthd/xidparse"
)

// The rota: so many nodes, in turn in one of two groups, stand in so many racks.
const (
	watchmen = 12
	racks    = 3
)

// rota is how many may be diagnosed at once.
func rota() guard.Rota { return guard.Rota{AtOnce: 2, PerRack: 1} }

// TestTwelveNodesTakeTurns: all want to be diagnosed by the clock at once, behind an
// API server that spoils requests. Whatever runs is told by its Node, at no version of
// the Nodes are there more than may be, of a group or, across groups, of a rack, and
// everybody has a turn.
func TestTwelveNodesTakeTurns(t *testing.T) {
	cluster := kubetest.Start(t)
	key := deployed(t, cluster)
	w := newWeather(t, cluster.Admin())
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	defer func() { cancel(); wg.Wait() }()
	var all []*watchman
	where := map[string][2]string{}
	for n := range watchmen {
		name := fmt.Sprintf("node-%03d", n)
		pool, rack := fmt.Sprintf("pool-%d", n%2), fmt.Sprintf("rack-%d", n%racks)
		where[name] = [2]string{pool, rack}
		cluster.CreateNode(t, name)
		label(t, cluster, name, map[string]string{"pool": pool, "rack": rack, remediate.LabelState: string(remediate.Healthy)})
		all = append(all, newWatchman(t, w, cluster.ServiceAccount(t, key, name), name))
	}
	turns := watchTurns(ctx, t, cluster, where)
	w.rough.Store(true)
	for _, m := range all {
		wg.Go(func() { m.run(ctx) })
	}
	await(t, "half of them were diagnosed, in the storm", func() bool { return diagnosed(all) >= watchmen/2 })
	w.rough.Store(false)
	await(t, "all were diagnosed", func() bool { return diagnosed(all) == watchmen })
	await(t, "no Node says so any more", func() bool { return turns.now.Load() == 0 })
	t.Logf("%d of %d requests spoilt; at most %d of a group and %d of a rack at once, over %d versions of Nodes",
		w.spoilt.Load(), w.all.Load(), turns.ofGroup.Load(), turns.ofRack.Load(), turns.versions.Load())
	if g, r := turns.ofGroup.Load(), turns.ofRack.Load(); g > int64(rota().AtOnce) || r > int64(rota().PerRack) || r == 0 {
		t.Errorf("%d of a group and %d of a rack are diagnosed at once, and %+v may be", g, r, rota())
	}
	for _, m := range all {
		if m.untold.Load() {
			t.Errorf("%s was diagnosed, and its Node did not say so", m.name)
		}
	}
}

func diagnosed(all []*watchman) (n int) {
	for _, m := range all {
		if m.done.Load() {
			n++
		}
	}
	return n
}

// turns counts the Nodes that say they are diagnosed, at each of their versions.
type turns struct{ ofGroup, ofRack, now, versions atomic.Int64 }

func watchTurns(ctx context.Context, t *testing.T, cluster *kubetest.Cluster, where map[string][2]string) *turns {
	t.Helper()
	s := &turns{}
	busy := map[string]bool{}
	watchNodes(ctx, t, cluster, func(node *corev1.Node) {
		s.versions.Add(1)
		if busy[node.Name] = node.Labels[remediate.LabelDiagnosing] != ""; !busy[node.Name] {
			delete(busy, node.Name)
		}
		count := map[string]int64{}
		for name := range busy {
			count[where[name][0]]++
			count[where[name][1]]++
		}
		for of, n := range count {
			most := &s.ofGroup
			if strings.HasPrefix(of, "rack") {
				most = &s.ofRack
			}
			most.Store(max(most.Load(), n))
		}
		s.now.Store(int64(len(busy)))
	})
	return s
}

// watchman is a node that is in order, and to be diagnosed by the clock once.
type watchman struct {
	*beast

	at time.Time // when the diagnosis that runs began
	// told is whether the Node says that it is diagnosed.
	told         bool
	done, untold atomic.Bool
}

func newWatchman(t *testing.T, w *weather, config tokened, name string) *watchman {
	t.Helper()
	m := &watchman{beast: newBeast(t, w, config, name)}
	rules := guard.Default()
	rules.Rates, rules.Rota = nil, rota()
	p := remediate.DefaultRepair()
	p.Mode, p.Guards, p.Diag.Mode = remediate.Contain, &rules, remediate.MeansCommand
	p.Diag.Schedule = remediate.Schedule{Every: 24 * time.Hour, Level: 2}
	m.plan = remediate.NewPlan(p)
	m.fleet.Rules, m.fleet.Label, m.fleet.Rack = rules, "pool", "rack"
	m.fleet.rack.time = m.fleet.times.lease
	now := time.Now()
	m.plan.Boot(now, "boot")
	m.plan.Sources(now, remediate.Sources{Polled: true, GPUs: []fault.Device{{PCI: xidparse.PCI{Bus: 1}, UUID: "GPU-1"}}})
	return m
}

// run is what an agent's parts do, one after the other.
func (m *watchman) run(ctx context.Context) {
	for ctx.Err() == nil {
		m.plan.Occupied(time.Now(), remediate.Occupancy{At: time.Now()})
		m.plan.Written()
		m.write(ctx)
		m.ask(ctx)
		m.diagnose()
		select {
		case <-ctx.Done():
		case <-time.After(time.Duration(50+m.rng.IntN(100)) * time.Millisecond):
		}
	}
}

func (m *watchman) write(ctx context.Context) {
	try, cancel := context.WithTimeout(ctx, 1500*time.Millisecond)
	defer cancel()
	if seen, err := m.node.Apply(try, m.plan.Desired()); err == nil {
		m.plan.Node(time.Now(), seen)
		m.told = seen.Diagnosing != ""
	}
}

func (m *watchman) ask(ctx context.Context) {
	turn := m.plan.Turn()
	if turn != nil && !turn.Seen {
		return
	}
	_ = m.fleet.Settle(ctx, turn != nil) // tried again the next time
	asks := m.plan.Asks()
	if len(asks) == 0 {
		return
	}
	answer, _ := m.fleet.Ask(ctx, asks, false)
	m.plan.Replied(time.Now(), answer)
	m.write(ctx)
	if turn = m.plan.Turn(); turn != nil && turn.Seen {
		_ = m.fleet.Settle(ctx, true)
	}
}

// diagnose takes a while.
func (m *watchman) diagnose() {
	d := m.plan.Deed()
	switch now := time.Now(); {
	case d == nil:
	case !m.deeds[d.ID]:
		m.deeds[d.ID], m.at = true, now
		m.untold.Store(m.untold.Load() || !m.told)
	case now.Sub(m.at) > 300*time.Millisecond:
		m.plan.Done(now, remediate.Outcome{Deed: d.ID, Result: remediate.Succeeded, Checked: []remediate.Checked{{GPU: "GPU-1", Check: remediate.CheckPassed}}})
		m.done.Store(true)
	}
}

// A rack is known by its label, or by the NVLink domain; where the label is missing
// nobody can tell.
func TestRacks(t *testing.T) {
	cluster := shared.Cluster(t)
	nodes := peers(t, cluster, "racks", 3)
	ask := func(rack string) string {
		a := newAsker(t, cluster.Admin(), nodes[0], func(o *Options) { o.Rack, o.Rules.Rota = rack, guard.Rota{AtOnce: 3, PerRack: 1} })
		answer, survey := a.Ask(t.Context(), []guard.Ask{{Action: guard.Scheduled}}, false)
		if err := a.Settle(t.Context(), true); err != nil || survey.Error != "" {
			t.Error(err, survey.Error)
		}
		return said(answer)
	}
	label(t, cluster, nodes[1], map[string]string{"rack": "r1", remediate.LabelDiagnosing: "3"})
	label(t, cluster, nodes[2], map[string]string{"rack": "r1", remediate.LabelDiagnosing: "1"})
	if got := ask(""); got != "granted scheduled-diag" {
		t.Errorf("no rack is counted: %s", got)
	}
	if got := ask("rack"); got != "scheduled-diag held by power: the Node has no label rack, which would say whose power it shares" {
		t.Error(got)
	}
	label(t, cluster, nodes[0], map[string]string{"rack": "r1"})
	if got := ask("rack"); got != "scheduled-diag held by power: 1 node of rack=r1 being diagnosed (racks-1), and 1 may be" {
		t.Error(got)
	}
	label(t, cluster, nodes[1], map[string]string{"rack": "r2"})
	if got := ask("rack"); got != "granted scheduled-diag" {
		t.Error(got)
	}
}

// Two groups that share a rack cannot both be given its last turn.
func TestARackIsGivenOneTurnAtATime(t *testing.T) {
	cluster := shared.Cluster(t)
	a, b := peers(t, cluster, "left", 1)[0], peers(t, cluster, "right", 1)[0]
	change := func(o *Options) { o.Rack = "rack" }
	left, right := newAsker(t, cluster.Admin(), a, change), newAsker(t, cluster.Admin(), b, change)
	for _, name := range []string{a, b} {
		label(t, cluster, name, map[string]string{"rack": "shared"})
	}
	asks := []guard.Ask{{Action: guard.Scheduled}}
	if answer, _ := left.Ask(t.Context(), asks, false); said(answer) != "granted scheduled-diag" || answer.Leave {
		t.Errorf("%s, leave %v", said(answer), answer.Leave)
	}
	if answer, _ := right.Ask(t.Context(), asks, false); said(answer) != "scheduled-diag held by schedule: leave is given to one node at a time, and left-0 is just given it" {
		t.Error(said(answer))
	}
	if right.lease.have != nil {
		t.Error("who has waited in vain for its rack keeps the Lease of its group")
	}
}
