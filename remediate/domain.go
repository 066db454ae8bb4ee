package remediate

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/gpuhealthd/gpuhealthd/fault"
)

// listLimit is how many bytes trays and workloads may each take in an event, which
// has 1024 in all.
const listLimit = 400

const (
	// domainQuiet is how long no other tray may have spoken before a fault of the domain
	// is told: they do so within seconds of each other, or of their polls.
	domainQuiet = 5 * time.Second
	// domainLimit is how long that is waited for at most.
	domainLimit = 30 * time.Second
)

// domainFault is a fault of the whole NVLink domain that stands here.
type domainFault struct {
	// Since is when it began, or was told last; Changed when the last tray spoke.
	Since   time.Time `json:"since"`
	Changed time.Time `json:"changed"`
	// Trays are all that have spoken since, sorted; Told is how many were told, 0 before.
	Trays []string `json:"trays"`
	Told  int      `json:"told,omitempty"`
}

// domain tells a fault of the whole NVLink domain, of whatever classes it is here and
// there, with the trays and the workloads that it reaches: once for all of its nodes,
// since every agent tells it and the first is heard, and again where more trays have
// come to say so.
func (p *Plan) domain(now time.Time) {
	if !slices.ContainsFunc(p.state.Open, ofDomain) || p.sources.Domain == "" {
		p.state.DomainFault = nil
		return
	}
	if p.state.DomainFault == nil {
		p.state.DomainFault = &domainFault{Since: now, Changed: now}
	}
	f := p.state.DomainFault
	trays := slices.Sorted(slices.Values(slices.Concat(f.Trays, p.sources.Trays)))
	if trays = slices.Compact(trays); len(trays) > len(f.Trays) {
		if len(f.Trays) == f.Told {
			f.Since = now
		}
		f.Trays, f.Changed = trays, now
	}
	due := now.Sub(f.Changed) >= domainQuiet || now.Sub(f.Since) >= domainLimit
	if !due || len(f.Trays) == f.Told {
		return
	}
	key := "domain"
	if f.Told > 0 {
		key = fmt.Sprintf("domain/%d", len(f.Trays))
	}
	p.announce(now, Event{Key: key, Shared: "nvlink-domain/" + p.sources.Domain, Type: "Warning", Reason: "NVLinkDomainFault", Message: p.domainText(f.Trays)})
	f.Told = len(f.Trays)
}

func (p *Plan) domainText(trays []string) string {
	s := p.sources
	return fmt.Sprintf("NVLink domain %s: a switch of the rack, or all of it; no node is cordoned for it. Trays: %s. Workloads on them: %s.",
		s.Domain, list(trays, 0), list(s.Workloads, s.MoreWork))
}

// ofDomain says whether an incident is a fault of the whole domain, for which nobody
// acts.
func ofDomain(i *Incident) bool {
	return i.Verdict.Radius == fault.Domain && i.Verdict.Action == fault.Hold && !i.Verdict.Closed
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
