package node

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// keptEvents is how many XID events the control file keeps for those who wait.
// One that was in no wait when so many followed has missed it.
const keptEvents = 16

func isEvent(key string) bool { return strings.HasPrefix(key, "xid.") }

// XID is an event of the driver's event set.
type XID struct {
	Code int
	// GI and CI are a MIG device's instances; nil is the GPU as a whole.
	GI, CI *int
}

// XID lets those who wait for a GPU's events hear one. The kernel log says
// nothing by itself.
func (n *Node) XID(gpu string, x XID) error {
	if x.Code < 0 || (x.GI == nil) != (x.CI == nil) {
		return fmt.Errorf("xid %+v: want a code, and both instances or none", x)
	}
	return n.edit(gpu, func(c *conf, i int) {
		value := fmt.Sprintf("%d %d", i, x.Code)
		if x.GI != nil {
			value += fmt.Sprintf(" %d %d", *x.GI, *x.CI)
		}
		events := slices.DeleteFunc(c.keys(nodeSection), func(key string) bool { return !isEvent(key) })
		next := 1
		if len(events) > 0 {
			last, _ := strconv.Atoi(strings.TrimPrefix(events[len(events)-1], "xid."))
			next = last + 1
		}
		if over := len(events) + 1 - keptEvents; over > 0 {
			c.remove(nodeSection, func(key string) bool { return slices.Contains(events[:over], key) })
		}
		c.set(nodeSection, fmt.Sprintf("xid.%d", next), value)
	})
}
