package nvlink

import (
	"fmt"
	"strings"
)

// Report is the body of one XID 144 to 150, as the driver prints it:
// "NETIR_LINK_EVT Fatal XC0 i0 Link 01 (0x021425c6 0x00000000 …)".
type Report struct {
	// XID is 144 to 150.
	XID int
	// Unit is the part of the link's logic. Tools that know both names of a
	// unit print them as "old/new".
	Unit string
	// Words are the interrupt info, the error status and the debug words, as
	// many as were printed.
	Words []uint32
}

// Do is what NVIDIA's decode table says to do at once.
type Do uint8

// What to do, by strength. The zero value is in no rule.
const (
	// DoIgnore: nothing, even where the driver printed "Fatal".
	DoIgnore Do = 1 + iota
	// DoFollow154: what an XID 154 beside it says; without one, restart the
	// program.
	DoFollow154
	// DoReset: reset the GPU.
	DoReset
)

// String says it in words.
func (d Do) String() string {
	switch d {
	case DoIgnore:
		return "ignore"
	case DoFollow154:
		return "follow XID 154"
	case DoReset:
		return "reset the GPU"
	}
	return fmt.Sprintf("invalid(%d)", uint8(d))
}

// Severity is the table's word, which can differ from the line's.
type Severity uint8

// The severities. The zero value is in no rule.
const (
	Nonfatal Severity = 1 + iota
	// LinkFatal takes one link down: the GPU is to be drained, then reset.
	LinkFatal
	// Fatal takes every link of the GPU down and ends its programs.
	Fatal
)

// Blame is where the table looks for the cause.
type Blame uint8

// Who is to blame. The zero value is in no rule.
const (
	// BlameLink: this end of the link, or the link itself.
	BlameLink Blame = 1 + iota
	// BlamePeer: the device at the other end, a GPU or a switch.
	BlamePeer
	// BlameHost: the node.
	BlameHost
	// BlameSoftware: the driver, or whoever took the link down.
	BlameSoftware
)

// Rule is one row of the decode table.
type Rule struct {
	Do       Do
	Severity Severity
	Blame    Blame
	// Promoted is set where the interrupt info carries the bit that makes a
	// harmless row one that needs a reset.
	Promoted bool
	// Investigate tells people what to look at; empty for nothing.
	Investigate string
	// Reason names unit, reason field and error status, for people.
	Reason string
}

// Advice says in words what to do, and where to look if the table names a place.
func (r Rule) Advice() string {
	look := r.Investigate
	if look == "" || strings.HasPrefix(look, "ask ") || strings.HasPrefix(look, "nothing") {
		return r.Do.String()
	}
	return r.Do.String() + "; look at " + look
}

// decodeRow is a row of decode.csv.
type decodeRow struct {
	xid            int
	unit1, unit2   string
	code1, code2   uint32
	reason, status uint32
	anyStatus      bool
	promotable     bool
	do             Do
	severity       Severity
	blame          Blame
	investigate    string
}

// firstV2 is the driver branch that changed the interrupt info's encoding.
const firstV2 = 575

// Decode finds the row for a report. The driver's major version, such as 570,
// picks one of the two encodings of the interrupt info; with 0 the unit's name
// does, or the info itself, since no info is valid in both. It is false for
// what the table does not name, where the unit's name contradicts the info,
// and where words are missing: the caller then follows the severity that the
// line prints, and the recovery action.
func Decode(r Report, driverMajor int) (Rule, bool) {
	if len(r.Words) == 0 {
		return Rule{}, false
	}
	for i := range decodeTable {
		row := &decodeTable[i]
		if row.xid != r.XID || !row.statusIs(r.Words) || row.reason != r.Words[0]>>20&0x3f {
			continue
		}
		for _, e := range [...]encoding{row.v1(), row.v2()} {
			if e.speaks(driverMajor) && e.names(r.Unit) && e.matches(r.Words[0]) {
				return row.rule(r.Words, e), true
			}
		}
	}
	return Rule{}, false
}

func (row *decodeRow) statusIs(words []uint32) bool {
	return row.anyStatus || len(words) > 1 && words[1] == row.status
}

// encoding is a row in one of the two encodings.
type encoding struct {
	v2   bool
	unit string
	// info under mask is the row's; promote is the bit that promotes it.
	info, mask, promote uint32
}

// v1 has the subcode in bits 9 to 5 and the XID's family below.
func (row *decodeRow) v1() encoding {
	family := uint32(row.xid - 143)
	if row.xid == 150 {
		family = 0
	}
	return encoding{unit: row.unit1, info: row.code1<<5 | family, mask: 0x3ff, promote: 1 << 10}
}

// v2 has the subcode in bits 6 to 0.
func (row *decodeRow) v2() encoding {
	return encoding{v2: true, unit: row.unit2, info: row.code2, mask: 0x7f, promote: 1 << 7}
}

func (e encoding) speaks(driverMajor int) bool {
	return driverMajor == 0 || e.v2 == (driverMajor >= firstV2)
}

func (e encoding) matches(info uint32) bool { return info&e.mask == e.info }

// names says whether a line's unit is this encoding's, alone or as one of two.
func (e encoding) names(unit string) bool {
	old, now, both := strings.Cut(unit, "/")
	return old == e.unit || both && now == e.unit
}

func (row *decodeRow) rule(words []uint32, e encoding) Rule {
	r := Rule{Do: row.do, Severity: row.severity, Blame: row.blame, Investigate: row.investigate}
	r.Reason = fmt.Sprintf("%s, reason %#04x", e.unit, row.reason)
	if !row.anyStatus {
		r.Reason += fmt.Sprintf(", error status %#x", row.status)
	}
	if row.promotable && words[0]&e.promote != 0 {
		r.Promoted, r.Do = true, DoReset
		r.Reason += ", promoted"
	}
	return r
}
