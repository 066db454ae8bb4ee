package check

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/gpuhealthd/gpuhealthd/internal/replay"
)

// Line tells the result in one line.
func (r Result) Line() string { return r.Grade.String() + ": " + r.text() }

// What one line tells at most, of a node on which everything is broken too; JSON has the
// rest.
const (
	mostKinds = 4
	mostGPUs  = 3
	mostText  = 240 // characters of one finding's
)

// kind is findings of one check that weigh the same.
type kind []Finding

// kinds puts the findings together, in the order in which they come.
func (r Result) kinds() (all []kind) {
	for _, f := range r.Findings {
		n := slices.IndexFunc(all, func(k kind) bool { return k[0].Check == f.Check && k[0].Grade == f.Grade })
		if n < 0 {
			n, all = len(all), append(all, nil)
		}
		all[n] = append(all[n], f)
	}
	return all
}

// text is what was found, the worst first, or how many GPUs are in order.
func (r Result) text() string {
	kinds := r.kinds()
	if len(kinds) == 0 {
		return r.gpus()
	}
	var parts []string
	for _, k := range kinds[:min(len(kinds), mostKinds)] {
		parts = append(parts, k.text())
	}
	if more := len(kinds) - mostKinds; more > 0 {
		parts = append(parts, "and "+replay.Count(more, "more check"))
	}
	return replay.Printable(strings.Join(parts, "; "))
}

// text tells the first finding, and how many others there are.
func (k kind) text() string {
	text, incidents, others := k[0].Check, 0, 0
	var gpus []string
	for _, f := range k {
		for _, g := range f.GPUs {
			if !slices.Contains(gpus, g) {
				gpus = append(gpus, g)
			}
		}
		if f.Incident != "" {
			incidents++
		}
		if f.Text != k[0].Text {
			others++
		}
	}
	if len(gpus) > 0 {
		text += " on " + strings.Join(gpus[:min(len(gpus), mostGPUs)], ", ") + andMore(len(gpus)-mostGPUs)
	}
	if k[0].Text != "" {
		text += ": " + shortened(k[0].Text) + andMore(others)
	}
	if k[0].Incident != "" {
		text += " (" + k[0].Incident + andMore(incidents-1) + ")"
	}
	return text
}

func andMore(n int) string {
	if n <= 0 {
		return ""
	}
	return fmt.Sprintf(" and %d more", n)
}

func shortened(text string) string {
	if all := []rune(text); len(all) > mostText {
		return string(all[:mostText-1]) + "…"
	}
	return text
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
