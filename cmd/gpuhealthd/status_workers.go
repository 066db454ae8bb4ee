package main

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/gpuhealthd/gpuhealthd/internal/agent"
	"github.com/gpuhealthd/gpuhealthd/internal/replay"
)

// workerTable has a line for each worker of disaggregated serving.
func workerTable(out io.Writer, s agent.Status) {
	if len(s.Workers) == 0 {
		return
	}
	fmt.Fprintln(out)
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "WORKER\tROLE\tGROUP\tPEERS\tON A FAILED LOAD\tNOTE")
	for _, w := range s.Workers {
		peers := "-"
		if w.Peers != nil {
			peers = fmt.Sprint(*w.Peers)
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\n", replay.Printable(w.Name), w.Role, replay.Printable(w.Group), peers, onFailure(w.OnFailure),
			replay.Printable(workerNote(s.At, w)))
	}
	_ = table.Flush() // the writer behind it keeps its error
}

// onFailure says what an engine does where it cannot read a KV cache.
func onFailure(policy string) string {
	switch policy {
	case "":
		return "-"
	case "recompute":
		return "recompute: seen as slowness alone"
	}
	return policy
}

// workerNote says what is wrong with a worker, or lost to it.
func workerNote(now time.Time, w agent.WorkerStatus) string {
	var notes []string
	if w.Peers == nil {
		notes = append(notes, "its peers are not known")
	}
	if s := w.Stale; s != nil {
		notes = append(notes, fmt.Sprintf("left by %s %s", s.Lost, ago(now, s.Since)))
	}
	if s := w.Stranded; s != nil {
		notes = append(notes, fmt.Sprintf("up to %.0f %% of its cache is kept for workers that are gone, for %s more", 100*s.Share, s.Until.Sub(now).Round(time.Second)))
	}
	return strings.Join(notes, "; ")
}
