package check

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/gpuhealthd/gpuhealthd/internal/replay"
)

// Line tells the result in one line.
func (r Result) Line() string { return r.Grade.String() + ": " + r.text() }

// text is all that was found, the worst first, or how many GPUs are in order.
func (r Result) text() string {
	var parts []string
	for _, f := range r.Findings {
		part := f.Check
		if len(f.GPUs) > 0 {
			part += " on " + strings.Join(f.GPUs, ", ")
		}
		if f.Text != "" {
			part += ": " + f.Text
		}
		if f.Incident != "" {
			part += " (" + f.Incident + ")"
		}
		parts = append(parts, part)
	}
	if len(parts) == 0 {
		parts = append(parts, r.gpus())
	}
	return replay.Printable(strings.Join(parts, "; "))
}

func (r Result) gpus() string {
	switch {
	case r.GPUs == nil:
		return "nothing is known to be wrong"
	case *r.GPUs == 0:
		return "no GPU"
	}
	return fmt.Sprintf("%d of %s in order", *r.Healthy, replay.Count(*r.GPUs, "GPU"))
}

// statuses are the words of monitoring plugins, by grade.
var statuses = [...]string{Healthy: "OK", Degraded: "WARNING", Faulty: "CRITICAL", Unknown: "UNKNOWN"}

// Nagios tells it as a monitoring plugin does: a word, a text, and performance data
// behind a bar. A count that is not known is left out.
func (r Result) Nagios() string {
	data := fmt.Sprintf("time=%.3fs findings=%d", r.Seconds, len(r.Findings))
	if r.GPUs != nil {
		data += fmt.Sprintf(" gpus=%d gpus_healthy=%d", *r.GPUs, *r.Healthy)
	}
	return fmt.Sprintf("GPU %s - %s | %s", statuses[r.Grade], strings.ReplaceAll(r.text(), "|", "/"), data)
}

// JSON writes it as one object on one line.
func (r Result) JSON(w io.Writer) error { return json.NewEncoder(w).Encode(r) }
