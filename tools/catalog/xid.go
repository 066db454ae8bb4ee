package main

import (
	"fmt"
	"strings"
)

// xid is a row of xidparse/catalog.csv.
type xid struct {
	code                 int
	name, meaning, fault string
	architectures        string
	radius, action       string
	diag                 int
	symptomOf            []int
	source, note         string
}

var (
	faults = []string{"unknown", "application", "gpu", "link", "host", "driver", "peer"}
	radii  = []string{"process", "mig", "gpu", "baseboard", "node", "domain"}
	// mild actions are all that an application's fault may cause.
	mild    = []string{"none", "record", "restart"}
	actions = append([]string{"cordon", "diag", "reset", "reboot", "replace", "hold"}, mild...)
)

func readXIDs(path string) ([]xid, error) {
	rows, err := readTable(path, "code", "name", "meaning", "fault", "architectures", "radius", "action",
		"diag", "symptom_of", "source", "note")
	if err != nil {
		return nil, err
	}
	var all []xid
	code := 0
	for _, r := range rows {
		x := xid{
			code: int(r.number("code")), name: r.text("name"), meaning: r.text("meaning"),
			fault: r.word("fault", faults...), architectures: r.optional("architectures"),
			radius: r.word("radius", radii...), action: r.word("action", actions...),
			symptomOf: r.numbers("symptom_of"), source: r.text("source"), note: r.optional("note"),
		}
		x.diag = map[string]int{"0": 0, "2": 2, "3": 3}[r.word("diag", "0", "2", "3")]
		if x.fault == "application" {
			r.word("action", mild...)
		}
		r.ascending(code, x.code)
		code = x.code
		if r.err != nil {
			return nil, r.err
		}
		all = append(all, x)
	}
	return all, nil
}

func xidTable(xids []xid) string {
	var b strings.Builder
	b.WriteString("// catalog is sorted by code.\nvar catalog = [...]Entry{\n")
	for _, x := range xids {
		fmt.Fprintf(&b, "{Code: %d, Name: %q, Meaning: %q,\nFault: %q, Radius: %q, Action: %q, Source: %q",
			x.code, x.name, x.meaning, x.fault, x.radius, x.action, x.source)
		if x.diag != 0 {
			fmt.Fprintf(&b, ", Diag: %d", x.diag)
		}
		if x.architectures != "" {
			fmt.Fprintf(&b, ", Architectures: %q", x.architectures)
		}
		if x.symptomOf != nil {
			fmt.Fprintf(&b, ", SymptomOf: %#v", x.symptomOf)
		}
		if x.note != "" {
			fmt.Fprintf(&b, ",\nNote: %q", x.note)
		}
		b.WriteString("},\n")
	}
	b.WriteString("}\n")
	return b.String()
}
