package probe

import (
	"reflect"
	"testing"

	"github.com/gpuhealthd/gpuhealthd/collector/nvml"
	"github.com/gpuhealthd/gpuhealthd/sim/node"
)

// xids reads to the first XID of a code. It is asked for until it is heard: what
// happens before the child listens is not told.
func (c *child) xid(code int, raise func() error) nvml.XID {
	c.t.Helper()
	return *c.until(func(r nvml.Report) bool {
		if r.Inventory != nil {
			must(c.t, raise())
		}
		return r.XID != nil && r.XID.Code == code
	}).XID
}

func TestXIDs(t *testing.T) {
	n := newNode(t)
	g, err := n.GPU("3")
	must(t, err)
	c := start(t, n, simulated(t))
	whole := c.xid(48, func() error { return n.XID("3", node.XID{Code: 48}) })
	if whole.UUID != g.UUID || whole.Count < 1 || whole.GI != nil || whole.CI != nil {
		t.Errorf("%+v, want it on %s as a whole", whole, g.UUID)
	}
	gi, ci := 3, 0
	part := c.xid(94, func() error { return n.XID("3", node.XID{Code: 94, GI: &gi, CI: &ci}) })
	part.Count = 1
	if want := (nvml.XID{Code: 94, UUID: g.UUID, GI: &gi, CI: &ci, Count: 1}); !reflect.DeepEqual(part, want) {
		t.Errorf("%+v, want %+v", part, want)
	}
	// However they are told, none of a burst is missed.
	for range 5 {
		must(t, n.XID("2", node.XID{Code: 31}))
	}
	for heard := 0; heard < 5; {
		heard += c.until(func(r nvml.Report) bool { return r.XID != nil && r.XID.Code == 31 }).XID.Count
	}
	// A lost GPU makes every wait fail. It is left out, and the others are heard.
	must(t, n.Lose("3"))
	c.xid(63, func() error { return n.XID("4", node.XID{Code: 63}) })
}
