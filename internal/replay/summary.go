package replay

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/gpuhealthd/gpuhealthd/fault"
	"github.com/gpuhealthd/gpuhealthd/remediate"
	"github.com/gpuhealthd/gpuhealthd/xidparse"
	"github.com/gpuhealthd/gpuhealthd/xidparse/logfile"
)

// summary tells the whole log again: counts, a row for every device, and what
// would be done at its end.
func (t *Text) summary(o Outcome) {
	fmt.Fprintf(t.out, "\n%s\n", t.style.Strong("Summary"))
	fmt.Fprintf(t.out, "%s read, %s.\n", Count(o.Messages, "message"), Count(o.Events, "event"))
	if o.Known == 0 && o.Messages > 0 {
		fmt.Fprintln(t.out, t.style.Warn("No line of this log has a form that is known; what it says of GPUs, if anything, was not heard."))
	}
	if o.Ignored > 0 {
		fmt.Fprintf(t.out, "%s ignored: written by user space.\n", Count(o.Ignored, "message"))
	}
	if o.Missing > 0 {
		fmt.Fprintln(t.out, t.style.Warn(Count(o.Missing, "message")+" missing: what they said is not known."))
	}
	if o.Uncounted > 0 {
		fmt.Fprintln(t.out, t.style.Warn(Count(o.Uncounted, "gap")+" of unknown size: what is missing there is not known."))
	}
	if o.Overlong > 0 {
		fmt.Fprintln(t.out, t.style.Warn(Count(o.Overlong, "line")+fmt.Sprintf(" longer than %d KiB: what stands behind that is not known.", logfile.MaxLine>>10)))
	}
	if o.Topology != nil {
		fmt.Fprintf(t.out, "Topology: %s.\n", o.Topology)
	}
	if o.Events == 0 {
		return
	}
	t.deviceTable()
	t.faultTable(o.Open)
	t.planned(o.Incidents)
}

// planned tells what would be done at the end of the log, the worst first.
func (t *Text) planned(incidents []remediate.Incident) {
	head := "\n" + t.style.Strong("Would be done") + "\n"
	for _, i := range incidents {
		if text := deeds(i.Steps, i.Verdict.Diag); text != "" {
			fmt.Fprintf(t.out, "%s%s of %s (%s): %s\n", head, i.Verdict.Class, target(i.Verdict), i.Verdict.ID, text)
			head = ""
		}
	}
}

// Count says how many there are: 1 GPU, 2 GPUs.
func Count[N int | int64 | uint64](n N, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// device is a row of the table: a GPU, a switch, or whatever has no address.
type device struct {
	pci      xidparse.PCI
	nameless bool
	isSwitch bool
}

func (d device) String() string {
	switch {
	case d.nameless:
		return "no address"
	case d.isSwitch:
		return d.pci.String() + " (switch)"
	}
	return d.pci.String()
}

func compareDevices(a, b device) int {
	order := func(d device) int {
		switch {
		case d.isSwitch:
			return 1
		case d.nameless:
			return 2
		}
		return 0
	}
	if c := cmp.Compare(order(a), order(b)); c != 0 {
		return c
	}
	switch {
	case a.pci.Less(b.pci):
		return -1
	case b.pci.Less(a.pci):
		return 1
	}
	return 0
}

// deviceTable shows what was heard of every device and the worst that was made
// of it.
func (t *Text) deviceTable() {
	heard := map[device][]*run{}
	for key, r := range t.seen {
		if key.kind != xidparse.KindNone {
			d := device{key.pci, !r.first.Event.HasPCI, key.kind == xidparse.KindSXID}
			heard[d] = append(heard[d], r)
		}
	}
	tw := tabwriter.NewWriter(t.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tw, "\nDEVICE\tHEARD\tWORST FAULT\tACTION\tRADIUS")
	for _, d := range slices.SortedFunc(maps.Keys(heard), compareDevices) {
		worst, action, radius := "-", "none", "-"
		if v, ok := t.worst(d); ok {
			worst, action, radius = string(v.Class), v.Action.String(), v.Radius.String()
		}
		fmt.Fprintf(tw, "%s\t%s\t%s\t%s\t%s\n", d, heardOf(heard[d]), worst, action, radius)
	}
	_ = tw.Flush() // the buffer below it reports
}

// heardOf lists kinds and counts, in the order in which they were first heard.
func heardOf(runs []*run) string {
	const shown = 5
	slices.SortFunc(runs, func(a, b *run) int { return cmp.Compare(a.first.Line, b.first.Line) })
	var parts []string
	for i, r := range runs {
		if i == shown {
			parts = append(parts, fmt.Sprintf("%d more", len(runs)-shown))
			break
		}
		part := what(r.first.Event.Kind, r.first.Event.Code)
		if r.count > 1 {
			part += fmt.Sprintf(" ×%d", r.count)
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, ", ")
}

// worst finds the strongest verdict that stands on a GPU, or on the node as a
// whole; of equals the root.
func (t *Text) worst(d device) (worst fault.Verdict, found bool) {
	for _, id := range slices.Sorted(maps.Keys(t.said)) {
		v := t.said[id]
		on := slices.ContainsFunc(v.GPUs, func(g fault.Device) bool { return g.PCI == d.pci && !d.nameless })
		ofNode := d.nameless && len(v.GPUs) == 0 && !v.Class.IsSXid()
		if d.isSwitch || !on && !ofNode {
			continue
		}
		if !found || v.Action > worst.Action || v.Action == worst.Action && worst.Root != "" && v.Root == "" {
			worst, found = v, true
		}
	}
	return worst, found
}

// faultTable shows every fault, those that are over too.
func (t *Text) faultTable(open []fault.Verdict) {
	final := maps.Clone(t.said)
	for _, v := range open {
		final[v.ID] = v
	}
	vs := slices.SortedFunc(maps.Values(final), func(a, b fault.Verdict) int {
		return cmp.Or(a.Opened.Compare(b.Opened), cmp.Compare(len(a.ID), len(b.ID)), cmp.Compare(a.ID, b.ID))
	})
	tw := tabwriter.NewWriter(t.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tw, "\nFAULT\tOF\tACTION\tRADIUS\tDIAG\tLINES\tID\tSTANDS")
	for _, v := range vs {
		diag, stands := "-", "open"
		if v.Diag > 0 {
			diag = fmt.Sprint(v.Diag)
		}
		switch {
		case v.Closed:
			stands = "over"
		case v.Root != "":
			stands = "echo of " + v.Root
		}
		fmt.Fprintf(tw, "%s\t%s\t%s\t%s\t%s\t%d\t%s\t%s\n", v.Class, target(v), v.Action, v.Radius, diag, v.Count, v.ID, stands)
	}
	_ = tw.Flush() // the buffer below it reports
}

// deeds says what a plan would do, in order; empty for nothing.
func deeds(steps []remediate.Step, diag int) string {
	var done, asked []string
	covered := ""
	for _, s := range steps {
		switch s.Status {
		case remediate.Withdrawn:
			continue
		case remediate.Covered:
			covered = fmt.Sprintf(" (the %s comes with what another fault asks for)", s.Kind)
			continue
		}
		text := string(s.Kind)
		if s.Kind == remediate.StepDiag {
			text = fmt.Sprintf("diagnosis level %d", diag)
		}
		if s.Status == remediate.WhenIdle {
			text += " when idle"
		}
		if s.Kind == remediate.StepCordon {
			done = append(done, text)
		} else {
			asked = append(asked, text)
		}
	}
	if len(asked) > 0 {
		done = append(done, "ask for "+strings.Join(asked, ", "))
	}
	return strings.Join(done, ", then ") + covered
}
