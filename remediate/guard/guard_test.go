package guard

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/gpuhealthd/gpuhealthd/fault"
)

var noon = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

// group makes a group of n nodes, of which the peers are told by words: out, leave,
// or a class that was told so many minutes ago.
func group(n int, peers ...string) Facts {
	f := Facts{At: noon, Group: "cluster", Nodes: n}
	for k, text := range peers {
		p := Peer{Node: fmt.Sprint(k), Out: strings.Contains(text, "out"), Leave: strings.Contains(text, "leave")}
		var class string
		var minutes int
		if _, err := fmt.Sscanf(text, "%s %d", &class, &minutes); err == nil {
			p.Fault, p.Since = fault.Class(class), noon.Add(-time.Duration(minutes)*time.Minute)
		}
		f.Peers = append(f.Peers, p)
	}
	return f
}

func TestDecide(t *testing.T) {
	soft := Ask{Class: fault.XID74, Action: Cordon, Since: noon.Add(-5 * time.Minute)}
	hard := Ask{Class: fault.XID79, Action: Reboot, Hard: true, Out: true, Since: soft.Since}
	links := Ask{Class: "links-down", Action: Cordon, Since: soft.Since}
	gsp := Ask{Class: fault.XID119, Action: Reset, Hard: true, Out: true, Since: soft.Since}
	fresh := links
	fresh.Since = noon.Add(-time.Minute)
	with := func(f Facts, change func(*Facts)) Facts { change(&f); return f }
	load := func(change func(*Load)) func(*Facts) {
		return func(f *Facts) {
			f.Load = &Load{PerNode: 100, Serving: 10, Own: 1, MaxLoad: 0.8, Minimum: 4, Demand: 700}
			change(f.Load)
		}
	}
	for _, c := range []struct {
		name  string
		facts Facts
		ask   Ask
		want  string
	}{
		{"alone", group(1), soft, ""},
		{"one of a few", group(9), soft, ""},
		{"a second of a few", group(9, "out"), soft, "budget"},
		{"a second of twenty", group(20, "out"), soft, ""},
		{"a third of twenty", group(20, "out", "out leave"), soft, "budget"},
		{"a third of 29: whole nodes", group(29, "out", "out"), soft, "budget"},
		{"a repair in a rack that failed as a whole", group(18, "out", "out", "out", "out"), hard, ""},
		{"a second repair there", group(18, "out leave", "out", "out", "out"), hard, "budget"},
		{"it has leave already", with(group(18, "out leave", "out leave"), func(f *Facts) { f.Leave = true }), hard, ""},
		{"two with the same", group(18, "links-down 1"), links, ""},
		{"three with the same", group(18, "links-down 1", "links-down 3"), links, "outbreak"},
		{"three of one family", group(18, "imex-down 1", "fabric-manager-dead 3"), links, "outbreak"},
		{"another family", group(18, "xid-119 1", "xid-119 3"), links, ""},
		{"spread over hours", group(18, "links-down 100", "links-down 200"), links, ""},
		{"an hour ago, and still there", group(18, "links-down 100", "links-down 101", "links-down 109"), links, "outbreak"},
		{"nobody knows since when", group(18, "links-down", "links-down"), links, ""},
		{"three of a hundred are no five per cent", group(100, "links-down 1", "links-down 3"), links, ""},
		{"a hard fault's repair", group(18, "xid-119 1", "gsp-timeout 2"), gsp, "outbreak"},
		{"too young to know", group(18), fresh, "outbreak"},
		{"cleared by a person", with(group(18, "links-down 1", "links-down 3"), func(f *Facts) { f.Cleared = noon }), links, ""},
		{"cleared before it came", with(group(18, "links-down 1", "links-down 3"), func(f *Facts) { f.Cleared = noon.Add(-time.Hour) }), links, "outbreak"},
		{"the others can carry it", with(group(20), load(func(*Load) {})), soft, ""},
		{"they can not", with(group(20), load(func(l *Load) { l.Demand = 730 })), soft, "capacity"},
		{"they can not, but the node is out already", with(group(20), load(func(l *Load) { l.Demand = 730 })), hard, ""},
		{"they can not even so", with(group(20), load(func(l *Load) { l.Demand = 810 })), hard, "capacity"},
		{"too few would serve", with(group(20), load(func(l *Load) { l.Minimum = 10 })), soft, "capacity"},
		{"the load is not known", with(group(20), load(func(l *Load) { l.Unknown = "no answer" })), soft, "capacity"},
		{"nobody serves", with(group(20), load(func(l *Load) { l.Serving, l.Own, l.Minimum = 0, 0, 0 })), soft, "capacity"},
		{"nobody serves, and nothing is wanted", with(group(20), load(func(l *Load) { l.Serving, l.Own, l.Minimum, l.Demand = 0, 0, 0, 0 })), soft, ""},
		{"several hold", with(group(9, "out", "links-down 1", "links-down 2"), load(func(l *Load) { l.Demand = 900 })), links, "budget outbreak capacity"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.name == "nobody knows since when" {
				for n := range c.facts.Peers {
					c.facts.Peers[n].Fault, c.want = "links-down", "outbreak"
				}
			}
			var got []string
			for _, h := range Default().Decide(c.facts, c.ask) {
				if h.Why == "" || h.Until == "" {
					t.Errorf("%+v says not why, or not until what", h)
				}
				got = append(got, string(h.Guard))
			}
			if strings.Join(got, " ") != c.want {
				t.Errorf("held by %v, want %q", got, c.want)
			}
		})
	}
}

func TestRate(t *testing.T) {
	r := Rules{Rates: map[Action]Limit{Reboot: {2, 24 * time.Hour}}}
	acts := []Act{{Reboot, noon.Add(-23 * time.Hour)}, {Reset, noon}, {Reboot, noon.Add(-time.Hour)}}
	if h := r.Rate(noon, Reboot, acts); h == nil || h.Until != "2026-11-30T13:00:00Z" {
		t.Errorf("%+v", h)
	}
	if h := r.Rate(noon.Add(time.Hour), Reboot, acts); h != nil {
		t.Errorf("%+v", h)
	}
	if h := r.Rate(noon, Reset, acts); h != nil {
		t.Errorf("what is not limited: %+v", h)
	}
	if got := r.Recent(noon.Add(2*time.Hour), acts); len(got) != 1 {
		t.Errorf("still count: %v", got)
	}
}

func TestInHand(t *testing.T) {
	for _, c := range []struct {
		labels, annotations map[string]string
		want                string
	}{
		{nil, nil, ""},
		{map[string]string{UpgradeLabel: "upgrade-done"}, nil, ""},
		{map[string]string{UpgradeLabel: "upgrade-required"}, nil, ""},
		{map[string]string{UpgradeLabel: "drain-required"}, nil, "upgrades the driver"},
		{map[string]string{UpgradeLabel: "upgrade-failed"}, nil, "upgrades the driver"},
		{map[string]string{operandLabels + "dcgm": "paused-for-driver-upgrade"}, nil, "paused a service"},
		{map[string]string{operandLabels + "dcgm": "paused-by-gpuhealthd.true"}, nil, ""},
		{nil, map[string]string{MaintenanceAnnotation: "ticket 7"}, `maintenance: "ticket 7"`},
		{nil, map[string]string{MaintenanceAnnotation: "false"}, ""},
		{nil, map[string]string{MaintenanceAnnotation: ""}, ""},
	} {
		got := InHandOf(c.labels, c.annotations)
		if c.want == "" && got.Hold() != nil || !strings.Contains(got.Why, c.want) {
			t.Errorf("%v %v: %+v", c.labels, c.annotations, got)
		}
	}
}

func TestRelease(t *testing.T) {
	r := Default()
	f := group(30)
	got, done := Released{}, 0
	for ; ; done++ {
		next, hold := r.Release(f, got)
		if hold != nil {
			break
		}
		got = next
	}
	if done != 3 {
		t.Errorf("%d at once", done)
	}
	f.At = noon.Add(r.Ramp.Every)
	if _, hold := r.Release(f, got); hold != nil {
		t.Errorf("a minute later: %+v", hold)
	}
	f.At = noon.Add(-time.Hour) // the clock that counted was an hour ahead
	if _, hold := r.Release(f, got); hold != nil {
		t.Errorf("a clock that is behind: %+v", hold)
	}
	f.Load = &Load{QueueAge: 3 * time.Second, Objective: 2 * time.Second}
	if _, hold := r.Release(f, Released{}); hold == nil || hold.Guard != Ramp {
		t.Errorf("the queue is too old: %+v", hold)
	}
}

func TestWouldShed(t *testing.T) {
	l := Load{PerNode: 100, Serving: 10, MaxLoad: 0.8, Demand: 1000, Shed: []Class{{"batch", 150}, {"free", 100}, {"paid", 500}}}
	for demand, want := range map[float64]string{800: "", 900: "batch", 1000: "batch free", 5000: "batch free paid"} {
		l.Demand = demand
		if got := strings.Join(l.WouldShed(), " "); got != want {
			t.Errorf("demand %v: %q, want %q", demand, got, want)
		}
	}
}

// The families are of classes that there are: one by another name would never hold.
func TestFamiliesAreOfFaultsThatThereAre(t *testing.T) {
	for name, classes := range families {
		for _, c := range classes {
			if !c.Known() {
				t.Errorf("family %s: there is no fault %s", name, c)
			}
		}
	}
}
