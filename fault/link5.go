package fault

import (
	"strconv"
	"strings"

	"github.com/gpuhealthd/gpuhealthd/nvlink"
	"github.com/gpuhealthd/gpuhealthd/xidparse"
)

// link5 is what the lines of one NVLink 5 episode (XID 144 to 150) amount to.
type link5 struct {
	Action Action
	Reason string
	// BitErrors: a link sees bit errors, which is less than that it went down.
	BitErrors bool `json:",omitempty"`
	// Peer: the row blames the device at the far end.
	Peer bool `json:",omitempty"`
	// Meant: software, the user or the host took the link down, which the table has
	// ignored.
	Meant bool `json:",omitempty"`
}

// speaks says whether the lines are of a link that failed, here or at its far end.
func (l *link5) speaks() bool { return l != nil && !l.BitErrors && !l.Meant }

// outranks says whether a line says more than another: it asks for more, or takes the
// blame that the other gives to the far end.
func (l *link5) outranks(o *link5) bool {
	return o == nil || l.Action > o.Action || l.Action == o.Action && o.Peer && !l.Peer
}

// The codes of NVLink 5's errors.
const firstLink5, lastLink5 = 144, 150

// isLink5 says whether a class is one of NVLink 5's.
func isLink5(c Class) bool {
	code, ok := c.Code()
	return ok && code >= firstLink5 && code <= lastLink5
}

// readLink5 decodes one line. What the table does not have follows the severity
// that the line prints; without that it is held. It never comes to nothing.
func readLink5(ev xidparse.Event, driverMajor int) *link5 {
	body, ok := ev.NVLink5()
	if !ok {
		return &link5{Action: Hold, Reason: "the line cannot be decoded"}
	}
	report := nvlink.Report{XID: ev.Code, Unit: body.Unit, Words: body.Words[:body.N]}
	l := &link5{BitErrors: strings.HasPrefix(body.Unit, "NETIR_BER")}
	if row, ok := nvlink.Decode(report, driverMajor); ok {
		l.Reason = row.Reason + ": " + row.Advice()
		l.Peer = row.Blame == nvlink.BlamePeer
		l.Meant = row.Do == nvlink.DoIgnore && (row.Blame == nvlink.BlameSoftware || row.Blame == nvlink.BlameHost)
		switch row.Do {
		case nvlink.DoReset:
			l.Action = Reset
		default:
			l.Action = Record
		}
	} else {
		l.Reason = body.Unit + ", not in the decode table, " + body.Severity.String() + " by its own word"
		l.Action = map[xidparse.Severity]Action{xidparse.SeverityFatal: Reset, xidparse.SeverityNonfatal: Record}[body.Severity]
		if l.Action == None {
			l.Action = Hold
		}
	}
	if body.Injected {
		l.Reason += "; injected by a test"
	}
	return l
}

// link5 keeps the strongest of an episode's lines.
func (e *episode) link5(ev xidparse.Event, driverMajor int) {
	l := readLink5(ev, driverMajor)
	if l.Action >= Reset {
		e.count(ev.Link)
	}
	if l.outranks(e.Link5) {
		e.Link5 = l
	}
}

// refineLink5 follows the decode of NVLink 5's lines.
func (j *Judge) refineLink5(e *episode, v *Verdict) []string {
	if e.Link5 == nil {
		return nil
	}
	if v.Action = e.Link5.Action; v.Action < Reset {
		v.Drain, v.Diag = DrainNever, 0
	} else {
		v.Drain, v.Diag = max(v.Drain, DrainWhenIdle), max(v.Diag, 2)
	}
	why := []string{e.Link5.Reason}
	if reach := j.now.reaches[e.key()]; e.Root == nil && reach.Extent == nvlink.ExtentBaseboard {
		v.Radius = Baseboard
		why = append(why, reach.Why)
	}
	return why
}

// echoLink5 settles whose symptom an NVLink 5 error is: one that asks for a
// reset itself stands for itself, unless it blames the far end; any other is explained
// by a link that went down, on whichever GPU: one 149 makes every peer print a 145.
func echoLink5(symptom, root *episode) (echo, settled bool) {
	if !isLink5(symptom.Class) || symptom.Link5 == nil {
		return false, false
	}
	blames := symptom.Link5.Peer && symptom.PCI != root.PCI
	if symptom.Link5.Action >= Reset && !blames && !root.rule.Floor {
		return false, true
	}
	down := root.Class == XIDClass(149) && root.Link5 != nil && root.Link5.Action >= Reset && (!root.Link5.Peer || symptom.PCI == root.PCI)
	return true, down && (symptom.Class != root.Class || blames)
}

// DriverBranch gives the branch of a driver's version, 570 of 570.86.15, and 0
// where it is not known.
func DriverBranch(version string) int {
	head, _, _ := strings.Cut(version, ".")
	n, err := strconv.Atoi(head)
	if err != nil {
		return 0
	}
	return n
}
