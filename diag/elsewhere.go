package diag

import (
	"fmt"
	"slices"
)

// elsewhere is what a test found on something that is none of the GPUs in question: a
// GPU instance, a switch, a CPU, a GPU that nobody asked for.
type elsewhere struct {
	test   Test
	result Result
}

// elsewhere gives what was found on no GPU in question.
func (r Report) elsewhere(gpus []GPU) (all []elsewhere) {
	for _, run := range r.Runs {
		for _, t := range run.Tests {
			for _, result := range t.Results {
				ours := result.Group == gpuGroup && slices.ContainsFunc(gpus, func(g GPU) bool { return g.ID == result.ID })
				if !ours && result.Status.bad() {
					all = append(all, elsewhere{t, result})
				}
			}
		}
	}
	return all
}

// bad tells whether a test found something.
func (s Status) bad() bool { return s == StatusFail || s == StatusWarn }

// doubt has a GPU's verdict doubted: what was found may be the GPU's own, as on an
// instance of it. Only a CPU is surely none of a GPU's parts.
func (e elsewhere) doubt(f *Finding) {
	switch e.result.Group {
	case cpuGroup:
	case gpuGroup:
		f.note(Doubtful, e.String()+"; that GPU was not asked for")
	default:
		f.note(Doubtful, e.String()+"; of which GPU that is the answer does not say")
	}
}

func (e elsewhere) String() string {
	text := fmt.Sprintf("%s %s on %s %d", e.test.Title(), e.result.Status.verb(), e.result.Group, e.result.ID)
	for _, err := range e.result.Errors {
		text += ": " + err.String()
	}
	return text
}

// explains tells whether what was read is a reason to exit so: a failure, and for an
// exit status that says isolate one that may be as grave.
func (r Report) explains(e exit) bool {
	for _, run := range r.Runs {
		if slices.ContainsFunc(run.Tests, func(t Test) bool { return t.explains(e) }) {
			return true
		}
	}
	return false
}

func (t Test) explains(e exit) bool {
	grave := func(err Error) bool {
		return e.status != exitIsolate || err.Severity == SeverityIsolate || err.Severity == SeverityUnknown
	}
	if t.Status.bad() && slices.ContainsFunc(t.Errors, grave) {
		return true
	}
	if len(t.Results) == 0 {
		return t.Status.bad() && len(t.Errors) == 0
	}
	return slices.ContainsFunc(t.Results, func(result Result) bool {
		return result.Status.bad() && (len(result.Errors) == 0 || slices.ContainsFunc(result.Errors, grave))
	})
}
