package replay

import (
	"fmt"
	"strings"
	"unicode"

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

// Warn is for what wants attention.
func (s Style) Warn(text string) string { return s.paint(yellow, text) }

// Bad is for what takes a node out of service.
func (s Style) Bad(text string) string { return s.paint(red, text) }

// Verdict tells a verdict in one line.
func (s Style) Verdict(v fault.Verdict) string {
	text := fmt.Sprintf("→ %s: %s on %s, %s", v.Class, v.Action, target(v), radius(v))
	if v.Diag > 0 {
		text += fmt.Sprintf(", diagnosis level %d", v.Diag)
	}
	return s.tone(v, text)
}

// tone gives text the colour of a verdict.
func (s Style) tone(v fault.Verdict, text string) string {
	switch {
	case v.Closed:
		return s.Good(text)
	case v.Acts():
		return s.Bad(text)
	case v.Hardware && v.Root == "":
		return s.Warn(text)
	}
	return s.Dim(text)
}

// became tells what a fault is, and why.
func (s Style) became(v fault.Verdict) string {
	head := fmt.Sprintf("%s of %s, %s", v.Class, target(v), radius(v))
	return s.tone(v, head) + ": " + Printable(v.Reason)
}

// deed tells what would be done about a verdict, or why nothing is.
func (s Style) deed(c Change) (tag, text string) {
	v := c.Verdict
	planned := deeds(c.Steps, v.Diag)
	switch {
	case v.Closed:
		return "would", s.Good("do nothing more")
	case v.Root != "":
		return "ignored", s.Dim("an echo of " + v.Root + "; recorded, and not acted on by itself")
	case planned != "":
		return "would", s.tone(v, planned)
	case v.Action == fault.Hold:
		return "would", s.Warn("hold it for a person; the node goes on")
	case v.Action == fault.Restart:
		return "ignored", s.Dim("the program is its owner's to restart; recorded")
	case !v.Hardware:
		return "ignored", s.Dim("only a program is to blame; recorded")
	}
	return "would", s.Dim("record it")
}

// radius says how far a verdict reaches, and how many GPUs are known inside.
func radius(v fault.Verdict) string {
	text := "radius " + v.Radius.String()
	if n := len(v.Affected); v.Radius >= fault.Baseboard && n > 0 {
		text += fmt.Sprintf(" (%s known inside)", Count(n, "GPU"))
	}
	return text
}

// target names whom a verdict is about.
func target(v fault.Verdict) string {
	switch {
	case v.Class.IsSXid():
		return "a switch"
	case len(v.Workloads) > 0:
		return strings.TrimSpace(workloads(v.Workloads) + " " + inParentheses(addresses(v.GPUs)))
	case len(v.GPUs) == 0:
		return "the node"
	}
	return strings.Join(addresses(v.GPUs), ", ")
}

// workloads are by their names, which others have chosen.
func workloads(ws []fault.Workload) string {
	names := make([]string, len(ws))
	for i, w := range ws {
		names[i] = Printable(w.Name)
	}
	return strings.Join(names, ", ")
}

func inParentheses(words []string) string {
	if len(words) == 0 {
		return ""
	}
	return "(" + strings.Join(words, ", ") + ")"
}

// Printable makes a log's text, or a file's name, safe to show on a terminal:
// neither a control nor what turns the direction of text reaches it.
func Printable(text string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, text)
}
