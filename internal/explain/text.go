package explain

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"github.com/gpuhealthd/gpuhealthd/internal/replay"
)

// The page's measures, in columns. MaxWidth is as wide as it gets, however wide
// the terminal is: longer lines are hard to read.
const (
	MaxWidth = 100
	minWidth = 80
	label    = 18
)

// Text prints an explanation as a page of the given width.
func Text(w io.Writer, e Explanation, width int, style replay.Style) error {
	p := page{out: bufio.NewWriter(w), width: min(max(width, minWidth), MaxWidth), style: style}
	p.line(style.Strong(e.Subject))
	p.row("name", e.Meaning.Name)
	p.row("meaning", e.Meaning.Text)
	p.row("at fault", e.Meaning.AtFault)
	p.row("architectures", e.Meaning.Architectures)
	p.row("note", e.Meaning.Note)
	p.row("source", e.Meaning.Source)
	p.said(e.Line)
	p.agent(e)
	p.confirm(e.Confirm)
	p.documents(e.Documents)
	return p.out.Flush()
}

// page lays text out.
type page struct {
	out   *bufio.Writer
	width int
	style replay.Style
}

func (p page) line(text string) { fmt.Fprintln(p.out, strings.TrimRight(text, " ")) }

func (p page) heading(text string) {
	p.line("")
	p.line(p.style.Strong(text))
}

// row prints a label and its text beside it; nothing where there is no text.
func (p page) row(name, text string) {
	if text == "" {
		return
	}
	for i, part := range replay.Wrap(replay.Printable(text), p.width-2-label) {
		if i > 0 {
			name = ""
		}
		p.line("  " + p.style.Dim(fmt.Sprintf("%-*s", label, name)) + part)
	}
}

func (p page) said(l *Line) {
	if l == nil || len(l.Facts) == 0 {
		return
	}
	p.heading("What the line says")
	for _, f := range l.Facts {
		p.row(f.Name, f.Value)
	}
}

func (p page) agent(e Explanation) {
	a := e.Agent
	if a == nil {
		if e.Class != "" {
			p.heading("What the agent does")
			p.row("this line alone", "It opens no fault, and ends what the driver had asked for before.")
		}
		return
	}
	p.heading("What the agent does")
	if e.Line != nil && e.Line.Verdict != nil {
		p.row("this line alone", e.Line.Verdict.Reason)
	}
	action := a.Action.String()
	if a.Later != 0 {
		action += ", and later " + a.Later.String()
	}
	p.row("fault", string(e.Class))
	p.row("action", action)
	p.row("why", strings.Join(a.Why, " "))
	p.row("radius", radiusText(a.Radius))
	p.row("drain", drainText(a.Drain))
	p.row("diagnosis", diagText(a.Diag))
	p.row("symptom of", classList(a.SymptomOf))
	p.row("echo of any", classList(a.SymptomOfAnywhere))
	p.row("over when", a.Ends)
}

func (p page) confirm(checks []Check) {
	if len(checks) == 0 {
		return
	}
	p.heading("How to confirm")
	for _, c := range checks {
		p.line("  " + c.Command) // whole, so that it can be copied
		for _, part := range replay.Wrap(c.Look, p.width-6) {
			p.line("      " + p.style.Dim(part))
		}
	}
}

func (p page) documents(ds []Document) {
	if len(ds) == 0 {
		return
	}
	p.heading("NVIDIA's documents")
	for _, d := range ds {
		p.line("  " + d.Title)
		p.line("      " + p.style.Dim(d.URL))
	}
}
