package main

import (
	"fmt"
	"strings"
)

// sxid is a row of xidparse/sxid.csv.
type sxid struct {
	code                 int
	name, meaning, class string
}

func readSXIDs(path string) ([]sxid, error) {
	rows, err := readTable(path, "code", "name", "meaning", "class")
	if err != nil {
		return nil, err
	}
	var all []sxid
	code := 0
	for _, r := range rows {
		s := sxid{int(r.number("code")), r.text("name"), r.text("meaning"),
			r.word("class", "unknown", "NonFatal", "PotentialFatal", "AlwaysFatal")}
		r.ascending(code, s.code)
		code = s.code
		if r.err != nil {
			return nil, r.err
		}
		all = append(all, s)
	}
	return all, nil
}

func sxidTable(sxids []sxid) string {
	var b strings.Builder
	b.WriteString("// sxids is sorted by code.\nvar sxids = [...]SXidEntry{\n")
	for _, s := range sxids {
		fmt.Fprintf(&b, "{%d, %q, %q, %q},\n", s.code, s.name, s.meaning, s.class)
	}
	b.WriteString("}\n")
	return b.String()
}
