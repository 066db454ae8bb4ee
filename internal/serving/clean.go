package serving

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/gpuhealthd/gpuhealthd/serving"
)

// clean makes the names that engines give themselves and their models fit for a line of
// text, a label and a page: an engine says what it likes. What is longer than the names
// that the fleet is asked for is cut.
func clean(engines []serving.Reading) []serving.Reading {
	engines = slices.Clone(engines)
	for i := range engines {
		engines[i].Engine, engines[i].Model = printable(engines[i].Engine), printable(engines[i].Model)
	}
	return engines
}

func printable(name string) string {
	name = strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return utf8.RuneError
	}, name)
	if len(name) <= modelLimit {
		return name
	}
	return strings.ToValidUTF8(name[:modelLimit], "") + "…"
}
