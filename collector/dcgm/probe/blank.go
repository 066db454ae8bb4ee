package probe

import (
	"math"
	"strings"
	"unicode"

	driver "github.com/NVIDIA/go-dcgm/pkg/dcgm"
)

// Blanks are values, and their status is that of any other: the least of each
// type, with the reasons (not found, not supported, not permitted) above it.
const (
	blankInt32 = 0x7ffffff0
	blankInt64 = 0x7ffffffffffffff0
	blankFloat = 140737488355328.0
	// reasons is how many blanks of 32 bits there are. In a field of 64 bits all
	// above them are counts: a bad GPU has had ten milliard ECC errors.
	reasons = 4
)

// number reads a value; not ok is unknown.
func number(v *driver.FieldValue_v1) (n float64, ok bool) {
	if v.Status != 0 {
		return 0, false
	}
	switch v.FieldType {
	case driver.DCGM_FT_INT64:
		i := v.Int64()
		return float64(i), i < blankInt64 && (i < blankInt32 || i >= blankInt32+reasons)
	case driver.DCGM_FT_DOUBLE:
		f := v.Float64()
		return f, f < blankFloat && !math.IsInf(f, 0) // no comparison holds of a NaN
	}
	return 0, false
}

// text reads a string; empty is unknown.
func text(v *driver.FieldValue_v1) string {
	s := v.String()
	if v.Status != 0 || v.FieldType != driver.DCGM_FT_STRING || strings.HasPrefix(s, "<<<") {
		return ""
	}
	return clean(s)
}

// maxText is how much of DCGM's texts is passed on, in characters.
const maxText = 160

// clean makes a text fit to pass on: short, and of printable characters.
func clean(s string) string {
	n := 0
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		if n++; n > maxText {
			return -1
		}
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, s))
}
