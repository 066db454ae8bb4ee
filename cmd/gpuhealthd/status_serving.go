package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/gpuhealthd/gpuhealthd/fault"
	"github.com/gpuhealthd/gpuhealthd/internal/agent"
	"github.com/gpuhealthd/gpuhealthd/internal/replay"
)

// servingLines say how the replicas of the node are.
func servingLines(out io.Writer, s agent.Status, style replay.Style) {
	v := s.Serving
	if v == nil {
		return
	}
	defer func() {
		for _, text := range v.Troubles {
			fmt.Fprintf(out, "          %s\n", style.Bad(replay.Printable(text)))
		}
	}()
	if v.At.IsZero() {
		fmt.Fprintln(out, "Serving   who serves is not known yet: the kubelet has not said, or the API server")
		return
	}
	counts := map[string]int{}
	for _, r := range v.Replicas {
		counts[v.Word(r)]++
	}
	var parts []string
	for _, word := range agent.Words() {
		if n := counts[word]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, word))
		}
	}
	text := replay.Count(len(v.Replicas), "replica")
	if len(parts) > 0 {
		text += ": " + strings.Join(parts, ", ")
	}
	fmt.Fprintf(out, "Serving   %s\n", text)
	if v.Fleet != "" {
		fmt.Fprintf(out, "          %s\n", style.Bad(replay.Printable("the fleet's latencies are not known: "+v.Fleet)))
	}
	for _, f := range v.Faults {
		if f.Action == fault.Record {
			fmt.Fprintf(out, "          %s\n", replay.Printable(fmt.Sprintf("%s: %s, recorded %s: %s", f.Workload, f.Fault, ago(s.At, f.Opened), f.Reason)))
		}
	}
	for _, t := range v.Trials {
		if why := t.Wants(); why != "" {
			fmt.Fprintf(out, "          %s\n", style.Bad(replay.Printable(fmt.Sprintf("%s %s: %s", t.Replica.Name, t.Stands(), why))))
		}
	}
	for _, u := range v.Unfound {
		fmt.Fprintf(out, "          %s\n", style.Bad(replay.Printable(u.Replica+": "+u.Why)))
	}
	for _, u := range v.Unasked {
		fmt.Fprintf(out, "          %s\n", style.Bad(replay.Printable(fmt.Sprintf("%s, %s: %s", u.Replica, u.Endpoint, u.Why))))
	}
}

// replicaTable has a line for each replica.
func replicaTable(out io.Writer, s agent.Status) {
	if s.Serving == nil || len(s.Serving.Replicas) == 0 {
		return
	}
	fmt.Fprintln(out)
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "REPLICA\tMODEL\tSTATE\tSCORE\tPARTS\tFIRST TOKEN\tPER TOKEN")
	for _, r := range s.Serving.Replicas {
		var parts []string
		for _, p := range slices.Sorted(maps.Keys(r.Parts)) {
			parts = append(parts, fmt.Sprintf("%s %.2f", p, r.Parts[p]))
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", replay.Printable(r.Replica.Name), replay.Printable(r.Model), s.Serving.Word(r), told(r.Value, "%.2f"),
			strings.Join(parts, ", "), told(r.Latency.FirstToken, "%.3fs"), told(r.Latency.PerToken, "%.3fs"))
	}
	_ = table.Flush() // the writer behind it keeps its error
}

// told writes a number, or that nobody knows it.
func told(v *float64, format string) string {
	if v == nil {
		return "-"
	}
	return fmt.Sprintf(format, *v)
}
