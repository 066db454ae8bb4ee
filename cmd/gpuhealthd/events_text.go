package main

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/gpuhealthd/gpuhealthd/fault"
	"github.com/gpuhealthd/gpuhealthd/internal/evidence"
	"github.com/gpuhealthd/gpuhealthd/internal/replay"
	"github.com/gpuhealthd/gpuhealthd/remediate"
	"github.com/gpuhealthd/gpuhealthd/xidparse"
)

// printEvents tells the list for people.
func printEvents(w io.Writer, list []evidence.Summary, now time.Time, style replay.Style) error {
	if len(list) == 0 {
		_, err := fmt.Fprintln(w, "No incident so far.")
		return err
	}
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tw, "ID\tFAULT\tON\tSTATE\tACTION\tOPENED\tENDED\tEVIDENCE")
	for _, s := range list {
		fmt.Fprintf(tw, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", replay.Printable(s.ID), cmp.Or(replay.Printable(string(s.Fault)), "-"), where(s.GPUs),
			stateOf(s), s.Action, s.Opened.UTC().Format(time.RFC3339), ending(s, now), size(s))
	}
	if err := tw.Flush(); err != nil {
		return err
	}
	for _, s := range list {
		if s.Replacement != nil && s.Ended.IsZero() {
			if _, err := fmt.Fprintf(w, "\n%s\n", style.Bad(replacementText(*s.Replacement))); err != nil {
				return err
			}
		}
	}
	return nil
}

func where(gpus []fault.Device) string {
	if len(gpus) == 0 {
		return "node"
	}
	var at []string
	for _, g := range gpus {
		at = append(at, g.PCI.String())
	}
	return strings.Join(at, ",")
}

func stateOf(s evidence.Summary) string {
	if !s.Ended.IsZero() {
		return "over"
	}
	return cmp.Or(replay.Printable(string(s.State)), "unknown")
}

func ending(s evidence.Summary, now time.Time) string {
	if s.Ended.IsZero() {
		return "open for " + lasting(now.Sub(s.Opened))
	}
	return s.Ended.UTC().Format(time.RFC3339)
}

func size(s evidence.Summary) string {
	switch {
	case s.Bytes == 0:
		return "none"
	case s.Damage != "":
		return fmt.Sprintf("%d KiB, damaged", (s.Bytes+1023)/1024)
	}
	return fmt.Sprintf("%d KiB", (s.Bytes+1023)/1024)
}

// replacementText asks for another part in one sentence a board.
func replacementText(r evidence.Replacement) string {
	var boards []string
	for _, g := range r.GPUs {
		boards = append(boards, fmt.Sprintf("%s, serial %s, part %s, UUID %s, PCI %s, slot %s", cmp.Or(g.Name, "GPU"), known(g.Serial), known(g.Part), known(g.UUID), g.PCI, known(g.Slot)))
	}
	text := fmt.Sprintf("Replace %s: %s (incident %s)", cmp.Or(strings.Join(boards, "; "), "a part of the node"), r.Reason, r.Incident)
	for _, a := range r.Tried {
		text += fmt.Sprintf("; a %s of %s has not helped", a.Kind, a.At.UTC().Format(time.RFC3339))
	}
	if r.Failure != "" {
		text += "; diagnosed: " + r.Failure
	}
	if r.Bundle != "" {
		text += "; evidence in " + r.Bundle
	}
	return replay.Printable(text)
}

func known(text string) string { return cmp.Or(text, "unknown") }

// printBundle tells one incident for people.
func printBundle(w io.Writer, b evidence.Bundle, style replay.Style) error {
	out := bufio.NewWriter(w)
	s := b.Summary()
	fmt.Fprintf(out, "%s\n", style.Strong(fmt.Sprintf("Incident %s: %s on %s", replay.Printable(s.ID), cmp.Or(replay.Printable(string(s.Fault)), "unknown fault"), where(s.GPUs))))
	fmt.Fprintf(out, "  opened %s, ", s.Opened.UTC().Format(time.RFC3339))
	if s.Ended.IsZero() {
		fmt.Fprintf(out, "%s when this was written\n", stateOf(s))
	} else {
		fmt.Fprintf(out, "ended %s\n", s.Ended.UTC().Format(time.RFC3339))
	}
	fmt.Fprintf(out, "  %s\n", replay.Printable(s.Reason))
	if s.Replacement != nil {
		fmt.Fprintf(out, "  %s\n", style.Bad(replacementText(*s.Replacement)))
	}
	nodeTable(out, b, s.GPUs)
	fmt.Fprintf(out, "\n%s\n", style.Strong("What happened (UTC)"))
	timeline(out, b, style)
	samples(out, b, s, style)
	for _, p := range b.Of(evidence.KindDiag) {
		fmt.Fprintf(out, "\n%s\n  %s\n", style.Strong("Diagnosis of "+p.At.UTC().Format(time.RFC3339)), replay.Printable(string(p.Diag)))
	}
	for _, d := range b.Damage {
		fmt.Fprintf(out, "\n%s\n", style.Warn("Damaged: "+replay.Printable(d)))
	}
	return out.Flush()
}

// nodeTable tells what the node was when the incident opened.
func nodeTable(out io.Writer, b evidence.Bundle, on []fault.Device) {
	nodes := b.Of(evidence.KindNode)
	if len(nodes) == 0 {
		return
	}
	n := nodes[0].Node
	fmt.Fprintf(out, "\nNode %s, boot %s, driver %s, gpuhealthd %s\n", known(replay.Printable(n.Name)), replay.Printable(n.Boot), known(replay.Printable(n.Driver)), replay.Printable(n.Agent))
	tw := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tw, "  \tPCI\tUUID\tSERIAL\tPART\tSLOT\tNAME")
	for _, g := range n.GPUs {
		mark := " "
		if slices.ContainsFunc(on, func(d fault.Device) bool { return d.PCI == g.PCI }) {
			mark = "*"
		}
		fmt.Fprintln(tw, " "+mark+"\t"+strings.Join([]string{g.PCI.String(), replay.Printable(g.UUID), known(replay.Printable(g.Serial)),
			known(replay.Printable(g.Part)), known(replay.Printable(g.Slot)), known(replay.Printable(g.Name))}, "\t"))
	}
	_ = tw.Flush() // the buffer below it reports
}

// timeline tells what happened, in order of time.
func timeline(out io.Writer, b evidence.Bundle, style replay.Style) {
	pieces := slices.Clone(b.Pieces)
	slices.SortStableFunc(pieces, func(x, y evidence.Piece) int { return x.At.Compare(y.At) })
	var before evidence.Progress
	for _, p := range pieces {
		what, texts := "", []string(nil)
		if p.Kind == evidence.KindProgress {
			what, texts = "plan", moves(before, *p.Progress)
			before = *p.Progress
		} else if w, text := inWords(p, style); text != "" {
			what, texts = w, []string{text}
		}
		for _, text := range texts {
			fmt.Fprintf(out, "  %s  %-8s %s\n", p.At.UTC().Format("2006-01-02 15:04:05.000"), what, text)
		}
	}
}

// inWords is one piece of the timeline in words; empty where it is told elsewhere.
func inWords(p evidence.Piece, style replay.Style) (what, text string) {
	switch p.Kind {
	case evidence.KindLine:
		return kernelLine(*p.Line, style)
	case evidence.KindVerdict:
		text := style.Verdict(*p.Verdict) + ": " + replay.Printable(p.Verdict.Reason)
		if p.Verdict.Root != "" {
			text += ", caused by " + replay.Printable(p.Verdict.Root)
		}
		return "verdict", text
	case evidence.KindDeed:
		return "deed", deedText(*p.Deed)
	case evidence.KindOutcome:
		return "outcome", outcomeText(*p.Outcome, style)
	case evidence.KindEvent:
		return "event", replay.Printable(p.Event.Reason + ": " + p.Event.Message)
	case evidence.KindSample:
		if p.Sample.Trouble != "" {
			return "sample", style.Bad("no answer: " + replay.Printable(p.Sample.Trouble))
		}
	case evidence.KindNode:
		return "agent", fmt.Sprintf("gpuhealthd %s follows it, boot %s", replay.Printable(p.Node.Agent), replay.Printable(p.Node.Boot))
	case evidence.KindDiag:
		return "diag", "a result, see below"
	case evidence.KindReplacement:
		return "replace", style.Bad("another part is asked for")
	case evidence.KindMissing:
		text := replay.Printable(p.Missing.Why)
		if p.Missing.Pieces > 0 {
			text = fmt.Sprintf("%s: %s", replay.Count(p.Missing.Pieces, "piece"), text)
		}
		return "missing", style.Warn(text)
	case evidence.KindEnd:
		return "end", "the incident is over"
	}
	return "", ""
}

func deedText(d remediate.Deed) string {
	what := "begins"
	if d.Undoing {
		what = "puts back " + strings.Join(d.Undo, ", ") + " of"
	}
	return replay.Printable(fmt.Sprintf("%s %s on %s for %s, until %s (%s)", what, d.Kind, where(d.GPUs), d.Fault, d.Deadline.UTC().Format("15:04:05"), d.ID))
}

func outcomeText(o remediate.Outcome, style replay.Style) string {
	text := replay.Printable(strings.TrimSuffix(fmt.Sprintf("%s: %s", o.Result, o.Text), ": "))
	for _, h := range o.Holders {
		text += replay.Printable(fmt.Sprintf("; held by %s (process %d, pod %s)", known(h.Process), h.PID, known(h.Pod)))
	}
	if o.Result == remediate.Succeeded {
		return style.Good(text)
	}
	return style.Bad(text)
}

// kernelLine shows the driver's lines as the driver's, all others dim.
func kernelLine(l evidence.Line, style replay.Style) (what, text string) {
	text = fmt.Sprintf("[%d.%06d] %s", l.Micros/1e6, l.Micros%1e6, replay.Printable(l.Text))
	if l.Lost > 0 {
		text = fmt.Sprintf("(%d records were lost before this) ", l.Lost) + text
	}
	if l.Userspace {
		text = "(by a program) " + text
	}
	if xidparse.Ours([]byte(l.Text)) {
		return "driver", text
	}
	return "kernel", style.Dim(text)
}

// moves tells what has changed between two looks at the plan.
func moves(before, now evidence.Progress) (texts []string) {
	for _, step := range now.Steps {
		if !slices.Contains(before.Steps, step) {
			texts = append(texts, fmt.Sprintf("%s is %s since %s", step.Kind, step.Status, step.Since.UTC().Format("15:04:05.000")))
		}
	}
	if now.State != before.State {
		texts = append(texts, "the node is "+replay.Printable(string(now.State))+" for it")
	}
	if now.Released && !before.Released {
		texts = append(texts, "an administrator has released the node from it")
	}
	return texts
}
