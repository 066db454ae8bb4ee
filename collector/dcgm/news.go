package dcgm

import (
	"cmp"
	"fmt"
	"slices"
)

// news tells what changed from what is said again: DCGM's findings are levels,
// and some stay until the engine is restarted. It outlives children, so that a
// new connection to the same engine is not a new fault.
type news struct {
	absent Reason
	health *Health
	xids   map[string]XID // by UUID, or number where that is not known
}

// of gives the part of a report that is news; not ok is none. Values always
// pass, but for an XID that is the one of last time; a health check passes where
// its findings are not those of the last.
func (n *news) of(r Report) (Report, bool) {
	switch r.Kind {
	case KindUp:
		n.absent = ""
	case KindAbsent:
		again := n.absent == r.Absent.Reason
		n.absent = r.Absent.Reason
		return r, !again
	case KindHealth:
		again := n.health != nil && n.health.equal(*r.Health)
		n.health = r.Health
		return r, !again
	case KindValues:
		for i := range r.Values.GPUs {
			n.xid(&r.Values.GPUs[i])
		}
	}
	return r, true
}

// xid takes out of a GPU's values the XID that was told before.
func (n *news) xid(g *GPU) {
	if g.XID == nil {
		return
	}
	gpu := cmp.Or(g.UUID, fmt.Sprint(g.ID))
	if told, ok := n.xids[gpu]; ok && told.Code == g.XID.Code && told.At.Equal(g.XID.At) {
		g.XID = nil
		return
	}
	if n.xids == nil {
		n.xids = map[string]XID{}
	}
	n.xids[gpu] = *g.XID
}

// equal compares what two checks found.
func (h Health) equal(other Health) bool {
	return h.Overall == other.Overall && h.More == other.More && slices.Equal(h.Incidents, other.Incidents)
}
