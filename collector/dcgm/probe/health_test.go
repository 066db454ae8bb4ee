package probe

import (
	"testing"

	"github.com/gpuhealthd/gpuhealthd/collector/dcgm"
	"github.com/gpuhealthd/gpuhealthd/sim/node"
)

func found(h dcgm.Health) bool { return len(h.Incidents) > 0 }

// What becomes of an injected fault, as the real engine was seen to do.
func TestIncidents(t *testing.T) {
	lib := library(t)
	xid := func(code int) func(node.DCGM) error { return func(d node.DCGM) error { return d.XID("3", code) } }
	field := func(id int, value string) func(node.DCGM) error {
		return func(d node.DCGM) error { return d.Field("3", id, value) }
	}
	tests := []struct {
		name   string
		inject func(node.DCGM) error
		want   dcgm.Incident
	}{
		{"XID 79", xid(79), dcgm.Incident{System: "any", Code: 120, Result: dcgm.Fail, Severity: "isolate", Sticky: true}},
		{"XID 94", xid(94), dcgm.Incident{System: "any", Code: 131, Result: dcgm.Warn, Severity: "monitor", Sticky: true}},
		{"XID 48", xid(48), dcgm.Incident{System: "any", Code: 101, Result: dcgm.Fail, Severity: "triage", Sticky: true}},
		{"XID 119", xid(119), dcgm.Incident{System: "any", Code: 101, Result: dcgm.Fail, Severity: "triage", Sticky: true}},
		{"XID 31", xid(31), dcgm.Incident{System: "memory", Code: 101, Result: dcgm.Warn, Severity: "triage", Sticky: true}},
		{"XID 63", xid(63), dcgm.Incident{System: "memory", Code: 6, Result: dcgm.Warn, Severity: "reset"}},
		{"double-bit error", field(311, "3"), dcgm.Incident{System: "memory", Code: 4, Result: dcgm.Fail, Severity: "isolate"}},
		{"remap failed", field(395, "1"), dcgm.Incident{System: "memory", Code: 80, Result: dcgm.Fail, Severity: "reset"}},
		{"many remaps", field(393, "600"), dcgm.Incident{System: "memory", Code: 132, Result: dcgm.Warn, Severity: "triage"}},
		{"bit errors", field(1217, "9"), dcgm.Incident{System: "nvlink", Code: 119, Result: dcgm.Fail, Severity: "isolate"}},
		{"recovery action", field(1523, "2"), dcgm.Incident{System: "driver", Code: 126, Result: dcgm.Fail, Severity: "isolate"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			n := newNode(t)
			c := startWith(t, n, lib, config())
			if h := c.health(func(dcgm.Health) bool { return true }); h.Overall != dcgm.Pass || !h.First || found(h) {
				t.Errorf("%+v, want a first check that finds nothing", h)
			}
			must(t, tt.inject(n.DCGM()))
			h := c.health(found)
			// The text names another GPU, or none: the entity is what counts.
			tt.want.Entity = dcgm.Entity{Group: "gpu", ID: 3, UUID: uuid(t, n, 3)}
			tt.want.Text = h.Incidents[0].Text
			if len(h.Incidents) != 1 || h.Incidents[0] != tt.want || h.Overall != tt.want.Result || h.First {
				t.Errorf("%+v, want %+v", h, tt.want)
			}
		})
	}
}

// An XID is said again until the engine is started anew; a field's incident goes
// when the value does.
func TestIncidentsStickOrGo(t *testing.T) {
	n := newNode(t)
	c := start(t, n)
	must(t, n.DCGM().XID("0", 79))
	must(t, n.DCGM().Field("1", 311, "3"))
	c.health(func(h dcgm.Health) bool { return len(h.Incidents) == 2 })
	must(t, n.DCGM().Field("1", 311, ""))
	h := c.health(func(h dcgm.Health) bool { return len(h.Incidents) == 1 })
	if i := h.Incidents[0]; i.Code != 120 || !i.Sticky {
		t.Errorf("%+v, want the XID to stay", i)
	}
	must(t, n.DCGM().Start(address))
	c.kind(dcgm.KindAbsent)
	c.ended()
	if h := start(t, n).health(func(dcgm.Health) bool { return true }); found(h) {
		t.Errorf("%+v after a restart of the engine", h)
	}
}

// Switch 3 is not GPU 3, and a link is its GPU's.
func TestEntitiesAreNamedByGroup(t *testing.T) {
	n := newNode(t)
	must(t, n.DCGM().Set("switches", "4"))
	must(t, n.DCGM().Incident(3, 3, 0x800, 109, 20))
	must(t, n.DCGM().Incident(6, 1|17<<8|5<<24, 0x2, 13, 10)) // GPU 5, link 17
	must(t, n.DCGM().Incident(6, 3|17<<8|5<<24, 0x2, 13, 10)) // switch 5, link 17
	must(t, n.DCGM().Incident(0, 0, 0x2000, 122, 10))
	h := start(t, n).health(func(h dcgm.Health) bool { return len(h.Incidents) == 4 })
	want := []dcgm.Entity{
		{Group: "switch", ID: 3},
		{Group: "link", ID: 1 | 17<<8 | 5<<24, UUID: uuid(t, n, 5)},
		{Group: "link", ID: 3 | 17<<8 | 5<<24},
		{Group: "node"},
	}
	for i, e := range want {
		if h.Incidents[i].Entity != e {
			t.Errorf("incident %d is of %+v, want %+v", i, h.Incidents[i].Entity, e)
		}
	}
	if h.Incidents[0].System != "switch-fatal" || h.Overall != dcgm.Fail {
		t.Errorf("%+v, want the switch's failure first", h)
	}
}

// Without the driver the engine lists no GPU and is healthy: that is worth nothing.
func TestHealthyWithoutGPUs(t *testing.T) {
	n := newNode(t)
	must(t, n.DCGM().Set("driver", "off"))
	c := start(t, n)
	if up := c.kind(dcgm.KindUp).Up; len(up.GPUs) != 0 {
		t.Errorf("%+v, want no GPU", up)
	}
	if h := c.kind(dcgm.KindHealth).Health; h.Overall != dcgm.Unknown {
		t.Errorf("%+v, want unknown", h)
	}
	must(t, n.DCGM().Set("driver", "on")) // it is loaded: begin to watch
	if up := c.kind(dcgm.KindUp).Up; len(up.GPUs) != 8 || up.GPUs[7].UUID == "" {
		t.Errorf("%+v, want 8 GPUs with names", up)
	}
	if h := c.kind(dcgm.KindHealth).Health; h.Overall != dcgm.Pass {
		t.Errorf("%+v, want pass", h)
	}
}

func TestHealthInUse(t *testing.T) {
	n := newNode(t)
	c := start(t, n)
	must(t, n.DCGM().Fail("dcgmHealthCheck", -34))
	if f := c.kind(dcgm.KindFailed).Failed; f.Op != "dcgmHealthCheck" || f.Code != -34 {
		t.Errorf("%+v, want -34", f)
	}
	must(t, n.DCGM().Fail("dcgmHealthCheck", 0))
	c.kind(dcgm.KindHealth)
}

func TestManyIncidents(t *testing.T) {
	n := newNode(t)
	for i := range 31 {
		must(t, n.DCGM().Incident(1, i%8, 0x10, 4, 10))
	}
	must(t, n.DCGM().Incident(1, 7, 0x10, 80, 20))
	must(t, n.DCGM().Field("0", 311, "3"))
	h := start(t, n).health(func(dcgm.Health) bool { return true })
	if len(h.Incidents) != maxIncidents || h.More != 1 || h.Incidents[1].Result != dcgm.Fail || h.Incidents[2].Result != dcgm.Warn {
		t.Errorf("%d incidents and %d more, %+v first; want the two failures first", len(h.Incidents), h.More, h.Incidents[:3])
	}
}
