package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/gpuhealthd/gpuhealthd/diag"
	"github.com/gpuhealthd/gpuhealthd/internal/agent"
	"github.com/gpuhealthd/gpuhealthd/internal/replay"
)

// diagnosisLines says how far a diagnosis is, and what the last one said.
func diagnosisLines(out io.Writer, s agent.Status, style replay.Style) {
	d := s.Diagnosis
	switch {
	case d.Deed != nil:
		var gpus []string
		for _, g := range d.Deed.GPUs {
			gpus = append(gpus, g.String())
		}
		fmt.Fprintf(out, "\nDiagnosis of level %d of %s %s\n", d.Deed.Level, strings.Join(gpus, ", "), progressText(d.Progress))
	case d.Asking != nil:
		fmt.Fprintf(out, "\nA diagnosis of level %d is asked for (%s): %s\n", d.Asking.Level, d.Asking.ID, waitingText(d.Waits))
	}
	for _, h := range d.Held {
		fmt.Fprintf(out, "\nHeld: %s\n", style.Bad(heldText(s, h)))
	}
	if d.Last == nil {
		return
	}
	fmt.Fprintf(out, "\nThe last diagnosis, of level %d, %s:\n", d.Last.Level, ago(s.At, d.Last.Began.Add(d.Last.Took)))
	for _, f := range d.Last.Findings {
		text := replay.Printable(strings.TrimSuffix(fmt.Sprintf("%s %s: %s", f.GPU, f.Verdict, strings.Join(f.Reasons, "; ")), ": "))
		switch f.Verdict {
		case diag.Passed:
			text = style.Good(text)
		case diag.Failed:
			text = style.Bad(text)
		}
		fmt.Fprintf(out, "  %s\n", text)
	}
}
