package replay

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"slices"

	"github.com/gpuhealthd/gpuhealthd/fault"
	"github.com/gpuhealthd/gpuhealthd/xidparse"
)

// shownAlike is how many lines of one kind on one device the timeline shows; of
// a flood the rest is counted.
const shownAlike = 3

// maxKinds bounds what a hostile log can make the timeline remember.
const maxKinds = 4096

// Text prints a timeline and tables for people: what was heard, what it
// became, what would be done, what was ignored and why.
type Text struct {
	out   *bufio.Writer
	style Style
	seen  map[alike]*run
	// quiet are the runs with lines that were not shown, in no order.
	quiet []*run
	// said holds the last verdict of every fault, also of those that are over.
	said map[string]fault.Verdict
}

// gist is what of a verdict is told again when it changes. That one more GPU of
// the node was heard of is not worth a line.
func gist(v fault.Verdict) string {
	return fmt.Sprint(v.Class, v.Action, v.Later, v.Radius, v.Drain, v.Diag, v.Hard, v.Root, v.Closed, v.GPUs, v.Victims, v.Reason)
}

// alike is what makes two lines of a flood the same.
type alike struct {
	kind    xidparse.Kind
	pci     xidparse.PCI
	code    int
	ignored bool
}

// run is the lines of one kind so far.
type run struct {
	first, last        Finding
	count, shown, more int
}

// NewText prints to w.
func NewText(w io.Writer, style Style) *Text {
	return &Text{out: bufio.NewWriterSize(w, outBuffer), style: style, seen: map[alike]*run{}, said: map[string]fault.Verdict{}}
}

// Finding implements Printer.
func (t *Text) Finding(f Finding) error {
	if t.heard(f) {
		t.caughtUp()
		_, _ = t.out.WriteString(t.heardLine(f)) // Flush reports
	}
	for _, c := range f.Changes {
		before, known := t.said[c.Verdict.ID]
		t.said[c.Verdict.ID] = c.Verdict
		if known && gist(before) == gist(c.Verdict) {
			continue
		}
		fmt.Fprintf(t.out, "  became   %s\n", t.style.became(c.Verdict))
		tag, text := t.style.deed(c)
		fmt.Fprintf(t.out, "  %-8s %s\n", tag, text)
	}
	_, err := t.out.Write(nil) // a writer that has failed says so
	return err
}

// heard says whether a line is shown: the first of its kind are, and every one
// that changes something.
func (t *Text) heard(f Finding) bool {
	if f.Gap || f.Booted {
		return true
	}
	if f.Event.Kind == xidparse.KindNone && f.Ignored == "" {
		return len(f.Changes) > 0
	}
	r := t.run(f)
	r.count++
	if len(f.Changes) > 0 || r.shown < shownAlike {
		r.shown++
		return true
	}
	if r.more++; r.more == 1 {
		t.quiet = append(t.quiet, r)
	}
	r.last = f
	return false
}

// run finds the run that a line belongs to. Once there are too many, new kinds
// share one.
func (t *Text) run(f Finding) *run {
	key := alike{f.Event.Kind, f.Event.PCI, f.Event.Code, f.Ignored != ""}
	r := t.seen[key]
	if r == nil && len(t.seen) >= maxKinds {
		key = alike{}
		r = t.seen[key]
	}
	if r == nil {
		r = &run{first: f}
		t.seen[key] = r
	}
	return r
}

// caughtUp tells how much of a flood was not shown up to here.
func (t *Text) caughtUp() {
	slices.SortFunc(t.quiet, func(a, b *run) int { return cmp.Compare(a.last.Line, b.last.Line) })
	for _, r := range t.quiet {
		fmt.Fprintln(t.out, t.style.Dim(fmt.Sprintf("         … %d more of %s, the last in %s", r.more, subject(r.first), place(r.last))))
		r.more = 0
	}
	t.quiet = t.quiet[:0]
}

func (t *Text) heardLine(f Finding) string {
	switch {
	case f.Gap:
		return fmt.Sprintf("gap      %s  %s\n", place(f), t.style.Warn(missing(f.Missing)+" here, by the log's own word"))
	case f.Ignored != "":
		return t.style.Dim(fmt.Sprintf("ignored  %s  %s: %s", place(f), f.Ignored, Printable(f.Text))) + "\n"
	case f.Booted:
		return fmt.Sprintf("booted   %s  the host was booted anew\n", place(f))
	case f.Event.Kind == xidparse.KindNone:
		return t.style.Dim(fmt.Sprintf("passed   %s  the time up to here", place(f))) + "\n"
	}
	text := fmt.Sprintf("heard    %s  %s", place(f), t.style.Strong(subject(f)))
	if f.Event.Message != "" {
		text += ": " + Printable(f.Event.Message)
	}
	return text + "\n"
}

// missing says how much of a log a gap has taken.
func missing(n uint64) string {
	switch n {
	case 0:
		return "messages are missing, nobody knows how many,"
	case 1:
		return "1 message is missing"
	}
	return fmt.Sprintf("%d messages are missing", n)
}

// place says where and when a message stood.
func place(f Finding) string {
	text := fmt.Sprintf("line %d", f.Line)
	if f.File != "" {
		text = Printable(f.File) + " " + text
	}
	if f.Time.Clock != xidparse.ClockNone {
		text += " [" + f.Time.String() + "]"
	}
	return text
}

// subject names the event and its device.
func subject(f Finding) string {
	if f.Ignored != "" {
		return "what user space wrote"
	}
	ev := f.Event
	text := what(ev.Kind, ev.Code)
	switch {
	case !ev.HasPCI:
		return text + " (no address)"
	case ev.GPUInstance != xidparse.Absent:
		return fmt.Sprintf("%s on %s MIG %d", text, ev.PCI, ev.GPUInstance)
	}
	return text + " on " + ev.PCI.String()
}

func what(kind xidparse.Kind, code int) string {
	switch kind {
	case xidparse.KindXID:
		return fmt.Sprintf("XID %d", code)
	case xidparse.KindSXID:
		return fmt.Sprintf("SXid %d", code)
	}
	return kind.String()
}

// End implements Printer.
func (t *Text) End(o Outcome) error {
	t.caughtUp()
	t.summary(o)
	return t.out.Flush()
}
