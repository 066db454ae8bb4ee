package main

import (
	"fmt"
	"strings"
)

// rule is a row of nvlink/decode.csv, with Go names in the place of its words.
type rule struct {
	xid                         int
	unit1, unit2                string
	code1, code2, reason        uint32
	status                      uint32
	anyStatus, promotable       bool
	do, severity, blame, inform string
}

func readRules(path string) ([]rule, error) {
	rows, err := readTable(path, "xid", "unit_v1", "unit_v2", "subcode_v1", "subcode_v2", "reason", "error_status",
		"severity", "action", "promotable", "blame", "investigate")
	if err != nil {
		return nil, err
	}
	var all []rule
	for _, r := range rows {
		rule := rule{
			xid: int(r.number("xid")), unit1: r.text("unit_v1"), unit2: r.text("unit_v2"),
			code1: r.bits("subcode_v1", 5), code2: r.bits("subcode_v2", 7), reason: r.bits("reason", 6),
			anyStatus: r.optional("error_status") == "any", promotable: r.word("promotable", "yes", "no") == "yes",
			do:       r.goName("action", map[string]string{"ignore": "DoIgnore", "follow-154": "DoFollow154", "reset": "DoReset"}),
			severity: r.goName("severity", map[string]string{"nonfatal": "Nonfatal", "link-fatal": "LinkFatal", "fatal": "Fatal"}),
			blame:    r.goName("blame", map[string]string{"link": "BlameLink", "peer": "BlamePeer", "host": "BlameHost", "software": "BlameSoftware"}),
			inform:   r.optional("investigate"),
		}
		if !rule.anyStatus {
			rule.status = r.number("error_status")
		}
		if rule.xid < 144 || rule.xid > 150 {
			r.fail("xid", "144 to 150")
		}
		if r.err != nil {
			return nil, r.err
		}
		all = append(all, rule)
	}
	return all, nil
}

// bits takes a number of so many bits.
func (r *row) bits(column string, width int) uint32 {
	n := r.number(column)
	if n>>width != 0 {
		r.fail(column, fmt.Sprintf("a number of %d bits", width))
	}
	return n
}

// goName takes a word and gives the constant that stands for it.
func (r *row) goName(column string, names map[string]string) string {
	name, ok := names[r.fields[column]]
	if !ok {
		r.fail(column, "one of the words of nvlink.Rule")
	}
	return name
}

func ruleTable(rules []rule) string {
	var b strings.Builder
	b.WriteString("var decodeTable = [...]decodeRow{\n")
	for _, r := range rules {
		fmt.Fprintf(&b, "{%d, %q, %q, %#02x, %#02x, %#02x, %#x, %t, %t, %s, %s, %s, %q},\n",
			r.xid, r.unit1, r.unit2, r.code1, r.code2, r.reason, r.status, r.anyStatus, r.promotable,
			r.do, r.severity, r.blame, r.inform)
	}
	b.WriteString("}\n")
	return b.String()
}
