package remediate

import (
	"fmt"
	"strings"
	"time"

	"github.com/gpuhealthd/gpuhealthd/fault"
)

// listLimit is how many bytes trays and workloads may each take in an event, which
// has 1024 in all.
const listLimit = 400

// domain tells a fault of the whole NVLink domain, with the trays and the workloads
// that it reaches, once for all of its nodes: every agent tells it, and the first is
// heard.
func (p *Plan) domain(now time.Time, before, v fault.Verdict) {
	s := p.sources
	if v.Radius != fault.Domain || before.Radius == fault.Domain || v.Action != fault.Hold || s.Domain == "" {
		return
	}
	text := fmt.Sprintf("%s of NVLink domain %s: a switch of the rack, or all of it; no node is cordoned for it. Trays: %s. Workloads on them: %s.",
		v.Class, s.Domain, list(s.Trays, 0), list(s.Workloads, s.MoreWork))
	p.announce(now, Event{Key: "domain/" + string(v.Class), Shared: "nvlink-domain/" + s.Domain, Type: "Warning", Reason: "NVLinkDomainFault", Message: text})
}

// list writes names one after the other, as many as fit into listLimit, and counts
// those that do not and the more that nobody names.
func list(names []string, more int) string {
	n, length := 0, 0
	for n < len(names) && length+len(names[n]) <= listLimit {
		length += len(names[n]) + len(", ")
		n++
	}
	switch more += len(names) - n; {
	case n+more == 0:
		return "none known"
	case more == 0:
		return strings.Join(names, ", ")
	case n == 0:
		return fmt.Sprintf("%d", more)
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:n], ", "), more)
}
