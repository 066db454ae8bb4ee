package xidparse

import "strings"

// NVLink5 is the body of XID 144 to 150.
type NVLink5 struct {
	// Unit is the part of the link's logic, such as NETIR_LINK_EVT.
	Unit     string
	Severity Severity
	// XC is the number behind "XC".
	XC int
	// Injected is set on an error that a test put there.
	Injected bool
	// Words are interrupt info, error status and debug words; N of them were
	// printed.
	Words [7]uint32
	N     int
}

// NVLink5 reads "NETIR_LINK_EVT Fatal XC0 i0 Link 01 (0x… 0x… …)".
func (e Event) NVLink5() (NVLink5, bool) {
	if e.Code < 144 || e.Code > 150 {
		return NVLink5{}, false
	}
	_, at := nvlink5Link(e.Message)
	if at < 0 {
		return NVLink5{}, false
	}
	// Read backwards from "Link": what a user may have written stands in front.
	head, injected := lastField(e.Message[:at])
	head, xc := lastField(head)
	head, severity := lastField(head)
	var n NVLink5
	switch severity {
	case "Fatal":
		n.Severity = SeverityFatal
	case "Nonfatal", "Non-fatal":
		n.Severity = SeverityNonfatal
	}
	n.XC, _, _ = cutInt(strings.TrimPrefix(xc, "XC"))
	n.Injected = injected != "i0"
	n.Unit = strings.TrimSpace(head[strings.LastIndexByte(head, ',')+1:])
	if _, words, ok := strings.Cut(e.Message[at:], "("); ok {
		n.Words, n.N = hexWords(words)
	}
	return n, n.Unit != ""
}

// nvlink5Link reads the link's number and says where "Link" begins; -1 where
// it does not. Nothing behind it holds an 'L'.
func nvlink5Link(message string) (link, at int) {
	at = strings.LastIndexByte(message, 'L')
	if at < 0 {
		return Absent, -1
	}
	s, ok := strings.CutPrefix(message[at:], "Link ")
	if !ok {
		return Absent, -1
	}
	if strings.HasPrefix(s, "-1") {
		return -1, at
	}
	n, _, ok := cutInt(s)
	if !ok {
		return Absent, -1
	}
	return n, at
}

// lastField cuts the last word off s.
func lastField(s string) (head, field string) {
	s = strings.TrimRight(s, " ")
	i := strings.LastIndexByte(s, ' ')
	return s[:i+1], s[i+1:]
}
