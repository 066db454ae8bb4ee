package replay

import (
	"bufio"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/gpuhealthd/gpuhealthd/fault"
	"github.com/gpuhealthd/gpuhealthd/remediate"
	"github.com/gpuhealthd/gpuhealthd/xidparse"
)

// shownAlike is how many lines of one kind on one device the timeline shows; a
// flood is counted.
const shownAlike = 3

// Text prints a timeline and a table for people.
type Text struct {
	out   *bufio.Writer
	style Style
	seen  map[string]int
}

// NewText prints to w.
func NewText(w io.Writer, style Style) *Text {
	return &Text{out: bufio.NewWriter(w), style: style, seen: map[string]int{}}
}

// Event implements Printer.
func (t *Text) Event(h Heard) error {
	alike := fmt.Sprintf("%s %v %d", h.Event.Kind, h.Event.PCI, h.Event.Code)
	t.seen[alike]++
	switch n := t.seen[alike]; {
	case n == shownAlike+1:
		_, err := fmt.Fprintf(t.out, "%s%s\n", t.place(h), t.style.Dim("more like this are counted, not shown"))
		return err
	case n > shownAlike:
		return nil
	}
	_, err := fmt.Fprintf(t.out, "%s%-13s %-10s %s\n", t.place(h), where(h.Event), what(h.Event), Printable(h.Event.Message))
	return err
}

func (t *Text) place(h Heard) string {
	place := fmt.Sprintf("line %d", h.Line)
	if h.File != "" {
		place = h.File + " " + place
	}
	return fmt.Sprintf("%-12s ", place)
}

func where(ev xidparse.Event) string {
	if !ev.HasPCI {
		return "no address"
	}
	return ev.PCI.String()
}

func what(ev xidparse.Event) string {
	switch ev.Kind {
	case xidparse.KindXID:
		return fmt.Sprintf("XID %d", ev.Code)
	case xidparse.KindSXID:
		return fmt.Sprintf("SXid %d", ev.Code)
	}
	return ev.Kind.String()
}

// Verdict implements Printer.
func (t *Text) Verdict(v fault.Verdict) error {
	_, err := fmt.Fprintf(t.out, "%13s%s\n%16s%s\n", "", t.style.Verdict(v), "", t.style.Dim(Printable(v.Reason)))
	return err
}

// End implements Printer.
func (t *Text) End(o Outcome) error {
	fmt.Fprintf(t.out, "\n%d messages, %d of them the driver's, %d faults open at the end.\n", o.Messages, o.Events, len(o.Open))
	if len(o.Open) > 0 {
		t.table(o)
		t.plan(o.Incidents)
	}
	return t.out.Flush()
}

// table shows every open fault.
func (t *Text) table(o Outcome) {
	tw := tabwriter.NewWriter(t.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tw, "\nGPU\tFAULT\tACTION\tRADIUS\tDIAG\tCOUNT\tROOT")
	for _, v := range o.Open {
		diag := "-"
		if v.Diag > 0 {
			diag = fmt.Sprint(v.Diag)
		}
		root := v.Root
		if root == "" {
			root = "-"
		}
		fmt.Fprintf(tw, "%s\t%s\t%s\t%s\t%s\t%d\t%s\n", gpus(v), v.Class, v.Action, v.Radius, diag, v.Count, root)
	}
	_ = tw.Flush() // the buffer below it reports
}

// plan shows what would be done, incident by incident.
func (t *Text) plan(incidents []remediate.Incident) {
	for _, i := range incidents {
		if len(i.Steps) == 0 {
			continue
		}
		steps := make([]string, len(i.Steps))
		for n, s := range i.Steps {
			steps[n] = string(s.Kind)
			if s.Kind == remediate.StepDiag {
				steps[n] = fmt.Sprintf("diag level %d", i.Verdict.Diag)
			}
			if s.Status == remediate.WhenIdle {
				steps[n] += " when idle"
			}
		}
		fmt.Fprintf(t.out, "\nFor %s on %s (%s) the plan would be: %s.\n", i.Verdict.Class, gpus(i.Verdict), i.Verdict.ID, strings.Join(steps, ", "))
	}
}

func gpus(v fault.Verdict) string {
	if len(v.GPUs) == 0 {
		return "the node"
	}
	return strings.Join(addresses(v.GPUs), ", ")
}
