package replay

import (
	"fmt"
	"strings"

	"github.com/gpuhealthd/gpuhealthd/fault"
)

// Style colours text for a terminal, or leaves it alone.
type Style struct{ Colour bool }

const (
	red, yellow, green, dim, bold = "31", "33", "32", "2", "1"
)

func (s Style) paint(code, text string) string {
	if !s.Colour {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

// Dim is for what matters less.
func (s Style) Dim(text string) string { return s.paint(dim, text) }

// Strong is for what is read first.
func (s Style) Strong(text string) string { return s.paint(bold, text) }

// Good is for what is in order.
func (s Style) Good(text string) string { return s.paint(green, text) }

// Bad is for what takes a node out of service.
func (s Style) Bad(text string) string { return s.paint(red, text) }

// Verdict tells a verdict in one line.
func (s Style) Verdict(v fault.Verdict) string {
	text := fmt.Sprintf("→ %s: %s on %s, radius %s", v.Class, v.Action, gpus(v), v.Radius)
	if n := len(v.Affected); v.Radius >= fault.Baseboard && n > 0 {
		text += fmt.Sprintf(" (%d GPUs known inside)", n)
	}
	if v.Diag > 0 {
		text += fmt.Sprintf(", diagnosis level %d", v.Diag)
	}
	switch {
	case v.Closed:
		return s.Good(text)
	case v.Acts():
		return s.Bad(text)
	case v.Hardware:
		return s.paint(yellow, text)
	}
	return s.Dim(text)
}

// Printable makes a log's text safe to show on a terminal.
func Printable(text string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r >= 0x7f && r < 0xa0 {
			return ' '
		}
		return r
	}, text)
}
