package diag

import (
	"strconv"
	"strings"
)

// known tells whether the object is an answer of dcgmi's at all.
func (a answer) known() bool { return a.DCGM3 != nil || a.DCGM4 != nil || a.Iterations != nil }

func (a answer) body() body {
	switch {
	case a.DCGM4 != nil:
		return *a.DCGM4
	case a.DCGM3 != nil:
		return *a.DCGM3
	}
	return body{}
}

// read makes a test of it. DCGM 4 repeats every error in the summary: only those
// that stand in no result are the test's own.
func (t rawTest) read(category loose) Test {
	var test Test
	name, part := canonical(string(category), string(t.Name))
	test.Name, test.Part = text(name), text(part)
	for _, raw := range t.Results[:min(len(t.Results), maxResults)] {
		results, own := raw.read(test.Name)
		test.Results = append(test.Results, results...)
		test.Errors = append(test.Errors, own.Errors...)
		test.Status = worse(test.Status, own.Status)
	}
	if t.Summary != nil {
		test.Status = worse(test.Status, status(t.Summary.Status))
		for _, e := range t.Summary.errors() {
			if !test.has(e) {
				test.Errors = append(test.Errors, e)
			}
		}
	}
	return test
}

// has tells whether one of the test's results has that error.
func (t Test) has(e Error) bool {
	for _, r := range t.Results {
		for _, known := range r.Errors {
			if known == e {
				return true
			}
		}
	}
	return false
}

// read gives a result for each entity; own is what belongs to none. DCGM 3 puts
// the errors of all GPUs in its software test under the number of the last: the
// last error is that GPU's, whose the others are it does not say.
func (r rawResult) read(test string) (results []Result, own Result) {
	result := Result{Group: gpuGroup, Status: status(r.Status), Errors: r.errors()}
	ids := r.ID
	switch {
	case r.CPU != "":
		result.Group, ids = cpuGroup, r.CPU
	case ids != "" && r.Group != "":
		result.Group = text(string(r.Group))
	case r.GPU != "" && !strings.HasPrefix(string(r.GPU), "-"):
		ids = r.GPU
		if n := len(result.Errors); test == software && n > 1 {
			own.Errors, result.Errors = result.Errors[:n-1], result.Errors[n-1:]
		}
	default:
		ids = r.GPUs
	}
	for id := range strings.SplitSeq(string(ids), ",") {
		n, err := strconv.Atoi(strings.TrimSpace(id))
		if err != nil {
			continue
		}
		result.ID = n
		if results = append(results, result); len(results) == maxResults {
			break
		}
	}
	if results == nil {
		own = result
	}
	if len(results) > 0 || r.Status != "" {
		own.Status = result.Status
	}
	return results, own
}

// errors are bounded; the worst are among the first.
func (r rawResult) errors() (list []Error) {
	for _, raw := range r.Warnings {
		e := Error{Code: raw.Code, Severity: codeSeverity(raw.Code), Text: text(string(raw.Text))}
		if raw.Severity != nil {
			e.Severity = Severity(*raw.Severity)
		}
		if e.Text == "" && e.Code == 0 {
			continue
		}
		if list = append(list, e); len(list) == maxErrors {
			break
		}
	}
	return list
}

// statuses are the words of all generations; nvvs of DCGM 2 and 3 has its own.
var statuses = [...]struct {
	word   string
	status Status
}{
	{"pass", StatusPass}, {"fail", StatusFail}, {"warn", StatusWarn}, {"skip", StatusSkip},
	{"skipped", StatusSkip}, {"not run", StatusNotRun}, {"", StatusNotRun},
}

func status(word loose) Status {
	w := strings.ToLower(strings.TrimSpace(string(word)))
	w, _, _ = strings.Cut(w, " - ") // "Skip - All"
	for _, s := range statuses {
		if s.word == w {
			return s.status
		}
	}
	return StatusUnknown
}

// order is that of statuses from good to bad.
var order = [...]Status{"", StatusPass, StatusNotRun, StatusSkip, StatusUnknown, StatusWarn, StatusFail}

// worse gives the one that says more against a test.
func worse(a, b Status) Status {
	for i := len(order) - 1; i >= 0; i-- {
		if order[i] == a || order[i] == b {
			return order[i]
		}
	}
	return StatusUnknown
}
