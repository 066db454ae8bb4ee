package agent

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/gpuhealthd/gpuhealthd/remediate/guard"
)

// guards exports what guards hold and see, and what is fenced, whole at each scrape.
type guards struct {
	status                                                            func() Status
	held, fenced, left, nodes, capacityUp, capacity, load, shed, aged *prometheus.Desc
}

func newGuards(status func() Status) *guards {
	d := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc("gpuhealthd_"+name, help, labels, nil)
	}
	return &guards{status: status,
		held:       d("held_actions", "Actions that a guard holds at present, by action and guard.", "action", "guard"),
		fenced:     d("fenced_devices", "Devices that are fenced by themselves: 1 for each GPU, or for each MIG device of one."),
		left:       d("fences_left", "Devices whose fence is needed no more, and could not be taken away."),
		nodes:      d("group_nodes", "Nodes of the group when it was asked last: all, out (of the others), leave (of those), budget.", "count"),
		capacityUp: d("capacity_guarded", "1 while a guard looks at the load, 0 without a contract for this node, or where its figures were not known when the group was asked last."),
		capacity:   d("capacity_surviving", "What the nodes in service can carry, in the contract's unit, when the group was asked last."),
		load:       d("capacity_load_ratio", "The admitted demand by what the nodes in service can carry."),
		shed:       d("capacity_shed", "1 for each class of work that would have to be shed, 0 for the others of the contract.", "class"),
		aged:       d("capacity_queue_age_seconds", "The age of the oldest request that waits."),
	}
}

// Describe implements prometheus.Collector.
func (g *guards) Describe(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{g.held, g.fenced, g.left, g.nodes, g.capacityUp, g.capacity, g.load, g.shed, g.aged} {
		out <- d
	}
}

// Collect implements prometheus.Collector.
func (g *guards) Collect(out chan<- prometheus.Metric) {
	now := g.status()
	gauge := func(d *prometheus.Desc, value float64, labels ...string) {
		out <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, labels...)
	}
	held := map[[2]string]float64{}
	for _, i := range now.Incidents {
		for _, h := range i.Held {
			held[[2]string{string(h.Action), string(h.Guard)}]++
		}
	}
	for _, h := range now.Diagnosis.Held {
		held[[2]string{string(h.Action), string(h.Guard)}]++
	}
	for labels, n := range held {
		gauge(g.held, n, labels[:]...)
	}
	devices, left := 0, 0
	for _, f := range now.Fences {
		if devices += len(f.Rules); f.Stays != "" {
			left += len(f.Rules)
		}
	}
	gauge(g.fenced, float64(devices))
	gauge(g.left, float64(left))
	known := now.Capacity == "" && now.Group == nil // nobody has had to ask yet
	if s := now.Group; s != nil {
		for count, n := range map[string]int{"all": s.Nodes, "out": s.Out, "leave": s.Leave, "budget": s.Budget} {
			gauge(g.nodes, float64(n), count)
		}
		if l := s.Load; l != nil && l.Unknown == "" {
			known = true
			g.loaded(gauge, *l)
		}
	}
	gauge(g.capacityUp, number(known))
}

// loaded exports what the contract's group carries.
func (g *guards) loaded(gauge func(*prometheus.Desc, float64, ...string), l guard.Load) {
	gauge(g.capacity, l.Capacity())
	gauge(g.load, l.Ratio(0))
	gauge(g.aged, l.QueueAge.Seconds())
	shed := map[string]float64{}
	for _, c := range l.Shed {
		shed[c.Name] = 0
	}
	for _, name := range l.WouldShed() {
		shed[name] = 1
	}
	for name, value := range shed {
		gauge(g.shed, value, name)
	}
}
