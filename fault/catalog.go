package fault

import (
	"strings"

	"github.com/gpuhealthd/gpuhealthd/xidparse"
)

// catalogRule makes a rule from the catalogue's row of a code.
func catalogRule(c Class) (Rule, bool) {
	if code, ok := c.sxid(); ok {
		return switchRule(c, code)
	}
	code, ok := c.Code()
	if !ok {
		return Rule{}, false
	}
	row, ok := xidparse.Lookup(code)
	if !ok {
		return Rule{}, false
	}
	r := Rule{Class: c, Title: strings.TrimSuffix(row.Meaning, "."), Diag: row.Diag, known: true}
	if r.Action.UnmarshalText([]byte(row.Action)) != nil || r.Radius.UnmarshalText([]byte(row.Radius)) != nil {
		return Rule{}, false
	}
	for _, root := range row.SymptomOf {
		r.EchoOf = append(r.EchoOf, XIDClass(root))
	}
	r.Hardware = r.Radius >= GPU && r.Action != None
	switch {
	case !r.Hardware:
		r.Action, r.Cure, r.Quiet = max(r.Action, Record), CureQuiet, appQuiet
	case r.Action >= Cordon:
		r.Cure, r.Drain = CureReset, DrainWhenIdle
	default:
		r.Cure, r.Quiet = CureQuiet, day
	}
	return r, true
}

// switchRule makes a rule for an NVSwitch's code. What a switch prints is most
// often the echo of a GPU's death: its links going down. By itself it is held
// for a person.
func switchRule(c Class, code int) (Rule, bool) {
	r := Rule{Class: c, Title: "a switch code that no catalogue has", Hardware: true, Radius: Baseboard,
		Action: Hold, Cure: CureQuiet, Quiet: day, EchoAnywhere: []Class{XID79, GPULost}}
	if row, ok := xidparse.LookupSXid(code); ok {
		r.Title, r.known = strings.TrimSuffix(row.Meaning, "."), true
		if row.Class == "NonFatal" {
			r.Action = Record
		}
	}
	return r, true
}
