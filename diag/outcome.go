package diag

import (
	"cmp"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/gpuhealthd/gpuhealthd/fault"
)

// Outcome is one diagnosis, begun and over.
type Outcome struct {
	Level int `json:"level"`
	// Began and Took are of the diagnosis itself, not of what was waited for.
	Began time.Time     `json:"began"`
	Took  time.Duration `json:"took"`
	// GPUs are those of the findings, in their order, by the engine's numbers; -1
	// for one that the engine does not know.
	GPUs     []GPU     `json:"gpus"`
	Report   Report    `json:"report"`
	Findings []Finding `json:"findings"`
	// Unavailable is why no diagnosis can be had on this node at all, such as that
	// dcgmi is not installed; empty otherwise.
	Unavailable string `json:"unavailable,omitempty"`
	// Left says what may still be going on, such as a process that nothing ends;
	// empty where nothing is.
	Left string `json:"left,omitempty"`
}

// Add adds what is known of a GPU without a report of dcgmi's.
func (o *Outcome) Add(uuid string, v Verdict, why string) {
	o.GPUs = append(o.GPUs, GPU{ID: -1, UUID: uuid})
	o.Findings = append(o.Findings, Finding{GPU: uuid, Verdict: v, Reasons: []string{why}})
}

// Table is the outcome for a person: a table of tests by GPU, and the reasons.
func (o Outcome) Table() string {
	var b strings.Builder
	fmt.Fprintf(&b, "DCGM diagnostics level %d", o.Level)
	if o.Report.Version != "" {
		fmt.Fprintf(&b, ", DCGM %s", o.Report.Version)
	}
	if o.Report.Driver != "" {
		fmt.Fprintf(&b, ", driver %s", o.Report.Driver)
	}
	if o.Took > 0 {
		fmt.Fprintf(&b, ", %s", o.Took.Round(time.Second))
	}
	b.WriteString("\n\n")
	o.grid(&b)
	for _, line := range []string{o.Unavailable, o.Left, o.Report.Said} {
		if line != "" {
			fmt.Fprintf(&b, "\n%s\n", line)
		}
	}
	for _, e := range o.Report.elsewhere(o.GPUs) {
		if e.result.Group == cpuGroup {
			fmt.Fprintf(&b, "\n%s\n", e)
		}
	}
	for _, f := range o.Findings {
		f.explain(&b)
	}
	return b.String()
}

// grid has a row for each test and a column for each GPU.
func (o Outcome) grid(b *strings.Builder) {
	w := tabwriter.NewWriter(b, 0, 0, 2, ' ', 0)
	row := func(head string, cell func(i int) string) {
		cells := []string{head}
		for i := range o.GPUs {
			cells = append(cells, cell(i))
		}
		fmt.Fprintln(w, strings.Join(cells, "\t"))
	}
	row("TEST", func(i int) string { return short(o.GPUs[i].UUID) })
	for n, run := range o.Report.Runs {
		if n > 0 {
			row(fmt.Sprintf("iteration %d", n+1), func(int) string { return "" })
		}
		for _, t := range run.Tests {
			row(t.Title(), func(i int) string { return t.cell(o.GPUs[i].ID) })
		}
	}
	row("verdict", func(i int) string { return string(o.Findings[i].Verdict) })
	_ = w.Flush() // into memory
}

func (t Test) cell(id int) string {
	worst := Status("")
	for _, result := range t.on(id) {
		worst = worse(worst, result.Status)
	}
	return cmp.Or(string(worst), "-")
}

// short is enough of a UUID for a column's head.
func short(uuid string) string { return uuid[:min(len(uuid), len("GPU-6513270e"))] }

// explain says what a verdict rests on; of one that passed whole, nothing.
func (f Finding) explain(b *strings.Builder) {
	if f.Verdict == Passed && len(f.Missing) == 0 {
		return
	}
	fmt.Fprintf(b, "\n%s: %s", f.GPU, f.Verdict)
	if f.Hint > fault.None {
		fmt.Fprintf(b, ", asks for %s", f.Hint)
	}
	b.WriteString("\n")
	for _, reason := range f.Reasons {
		fmt.Fprintf(b, "  %s\n", reason)
	}
	if f.Verdict == Passed {
		fmt.Fprintf(b, "  without: %s\n", strings.Join(f.Missing, ", "))
	}
}
