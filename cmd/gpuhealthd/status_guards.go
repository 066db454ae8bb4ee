package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/gpuhealthd/gpuhealthd/fault"
	"github.com/gpuhealthd/gpuhealthd/internal/agent"
	"github.com/gpuhealthd/gpuhealthd/internal/replay"
	"github.com/gpuhealthd/gpuhealthd/remediate"
	"github.com/gpuhealthd/gpuhealthd/remediate/guard"
)

// groupLines says what was seen of the node's group when it was asked last, and
// whether a guard looks at the load.
func groupLines(out io.Writer, s agent.Status, style replay.Style) {
	if g := s.Group; g != nil {
		fmt.Fprintf(out, "Group     %s\n", works(style, holding("cannot be asked", g.Error), fmt.Sprintf("%s, %s, asked %s: %s out of service, %d by leave, and %d may be",
			g.Group, replay.Count(g.Nodes, "node"), ago(s.At, g.At), replay.Count(g.Out, "other"), g.Leave, g.Budget)))
		if g.Load != nil {
			fmt.Fprintf(out, "Capacity  %s\n", works(style, holding("not known", g.Load.Unknown), loadText(*g.Load)))
		}
	}
	if s.Capacity != "" {
		fmt.Fprintf(out, "Capacity  not guarded: %s\n", s.Capacity)
	}
}

// holding says what follows from what is not known; empty where it is.
func holding(what, why string) string {
	if why == "" {
		return ""
	}
	return what + ", so the guards hold: " + why
}

func loadText(l guard.Load) string {
	text := fmt.Sprintf("%.1f nodes serve, demand is %.0f %% of %.4g %s", l.Serving, 100*l.Ratio(0), l.Capacity(), l.Unit)
	if shed := l.WouldShed(); len(shed) > 0 {
		text += "; to be shed: " + strings.Join(shed, ", ")
	}
	return text
}

// heldText says what a guard holds, since when and until what.
func heldText(s agent.Status, h remediate.HeldAction) string {
	return replay.Printable(fmt.Sprintf("%s by the guard %s, %s: %s; until %s", h.Action, h.Guard, ago(s.At, h.Since), h.Why, h.Hold.Until))
}

// fenceLines says which devices are fenced by themselves, and how.
func fenceLines(out io.Writer, s agent.Status, style replay.Style) {
	for _, f := range s.Fences {
		text := replay.Printable(f.Key() + ": " + fenceText(s, f))
		if f.Stays != "" {
			text = style.Bad(text)
		}
		fmt.Fprintf(out, "Fence     %s\n", text)
	}
}

// fenceText says how one fence is.
func fenceText(s agent.Status, f remediate.Fence) string {
	rules := strings.Join(f.Rules, ", ")
	switch {
	case f.Stays != "":
		return "is needed no more and cannot be taken away, so the device gets no new work: " + rules + ": " + f.Stays
	case f.Ends:
		return "is taken away: " + rules
	case f.InForce():
		return fmt.Sprintf("the device alone is fenced, %s: %s", ago(s.At, f.Since), rules)
	case slices.ContainsFunc(s.Incidents, func(i remediate.Incident) bool {
		return i.Unfenced != "" && slices.ContainsFunc(i.Verdict.GPUs, func(d fault.Device) bool { return d.UUID == f.GPU })
	}):
		return "cannot be fenced by itself at present; the node is cordoned"
	}
	return "shall be fenced by itself; the node is cordoned meanwhile"
}
