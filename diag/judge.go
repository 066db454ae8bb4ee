package diag

import (
	"fmt"
	"slices"
	"strings"
)

// GPU is one that was diagnosed.
type GPU struct {
	// ID is the engine's number of it in this one answer, -1 where it has none.
	ID   int    `json:"id"`
	UUID string `json:"uuid"`
}

// Judge says what a report means for each of the GPUs that were diagnosed, in
// their order. It goes by the results of each test on each GPU: the exit status
// and the summaries only raise doubts. What one GPU did condemns no other.
func Judge(r Report, level int, gpus []GPU) []Finding {
	findings := make([]Finding, len(gpus))
	elsewhere := r.elsewhere(gpus)
	for i, g := range gpus {
		findings[i] = Finding{GPU: g.UUID, Verdict: Passed}
		r.judge(&findings[i], level, g)
		if len(r.Runs) == 0 || g.ID < 0 {
			continue
		}
		for _, e := range elsewhere {
			e.doubt(&findings[i])
		}
	}
	return findings
}

func (r Report) judge(f *Finding, level int, g GPU) {
	if len(r.Runs) > 0 && g.ID < 0 {
		f.note(NotRun, "the DCGM engine knows no such GPU")
		return
	}
	r.whole(f)
	for _, run := range r.Runs {
		r.run(f, run, level, g.ID)
	}
}

// whole notes what concerns the diagnosis as a whole.
func (r Report) whole(f *Finding) {
	e := exitOf(r.Exit)
	switch {
	case r.Stopped.Late: // a faulty GPU may well be why it hung
		f.note(Doubtful, r.Stopped.Why)
	case r.Stopped.Why != "":
		f.note(Aborted, r.Stopped.Why)
	case len(r.Runs) > 0:
		r.doubt(f, e)
	case r.Broken != "" && e.ending == failing && obstacle(r.Said) == "":
		f.note(Doubtful, fmt.Sprintf("%s, and the answer does not say which: %s", e, r.Broken))
	case e.ending == stopped:
		f.note(Aborted, r.because(e))
	default:
		f.note(NotRun, r.because(e))
	}
}

// because is why nothing was run: in the words of the diagnosis where it has any.
func (r Report) because(e exit) string {
	said := r.Runtime
	if said == "" {
		said = r.Said
	}
	why := strings.TrimSpace(said)
	switch {
	case why == "" && r.Broken != "":
		why = fmt.Sprintf("%s; the answer cannot be read: %s", e, r.Broken)
	case why == "" && e.ending == ended:
		why = "the answer names no test"
	case why == "":
		why = e.String()
	case e.ending != failing && e.ending != ended: // 226 with such words is no failed test
		why = fmt.Sprintf("%s: %s", e, why)
	}
	if o := obstacle(said); o != "" {
		why = o + "; " + why
	}
	return why
}

// doubt notes where the exit status and the results do not go together.
func (r Report) doubt(f *Finding, e exit) {
	switch {
	case e.ending == failing && !r.explains(e):
		f.note(Doubtful, fmt.Sprintf("%s, and no test says so", e))
	case e.ending != failing && e.ending != ended:
		f.note(Doubtful, e.String())
	}
	if r.Runtime != "" {
		f.note(Doubtful, r.Runtime)
	}
}

// run weighs one iteration for one GPU.
func (r Report) run(f *Finding, run Run, level, id int) {
	ran := map[string]Status{} // the worst of each test on this GPU
	for _, t := range run.Tests {
		for _, e := range t.Errors {
			f.blame(Doubtful, t.Title(), e, fmt.Sprintf("%s, of no GPU in particular: %s", t.Title(), e))
		}
		for _, result := range t.on(id) {
			if t.Part != "" && result.Status.idle() {
				f.miss(t.Title() + " was skipped")
				continue
			}
			ran[t.Name] = worse(ran[t.Name], result.Status)
			r.weigh(f, t, result)
		}
	}
	complete(f, ran, append(expect(level, r.Version), run.lacks()...))
}

// on gives a test's results for a GPU, of which there may be several: the worst
// counts. The software test of DCGM 3 names a GPU only where it fails.
func (t Test) on(id int) (results []Result) {
	for _, result := range t.Results {
		if result.Group == gpuGroup && result.ID == id {
			results = append(results, result)
		}
	}
	switch {
	case len(results) > 0 || t.Part == "":
		return results
	case len(t.Results) > 0 || len(t.Errors) > 0:
		return []Result{{Status: StatusPass}}
	}
	return []Result{{Status: t.Status}}
}

// weigh notes what one result says.
func (r Report) weigh(f *Finding, t Test, result Result) {
	name := t.Title()
	for _, e := range result.Errors {
		known := flawOf(r.Version, t.Name, e)
		switch {
		case result.Status.idle(): // complete has it
		case known != "":
			f.blame(Doubtful, name, e, fmt.Sprintf("%s: %s: %s", name, e, known))
		case result.Status == StatusPass:
			f.Hint = max(f.Hint, e.hint())
			f.blame(Doubtful, name, e, fmt.Sprintf("%s says pass, and tells of an error: %s", name, e))
		case result.Status == StatusFail && e.condemns():
			f.Hint = max(f.Hint, e.hint())
			f.blame(Failed, name, e, fmt.Sprintf("%s failed: %s", name, e))
		default:
			f.Hint = max(f.Hint, e.hint())
			f.blame(Doubtful, name, e, fmt.Sprintf("%s %s, by an error of severity %s: %s", name, result.Status.verb(), e.Severity, e))
		}
	}
	switch {
	case result.Status == StatusUnknown:
		f.note(Doubtful, name+" ended in a way that is not known")
	case len(result.Errors) > 0:
	case result.Status == StatusWarn:
		f.note(Doubtful, name+" warns, and does not say of what")
	case result.Status == StatusFail && t.othersSay(result.ID):
		f.note(Doubtful, name+" failed with no error of its own, beside a GPU that has one (NVIDIA/DCGM#145)")
	case result.Status == StatusFail:
		f.note(Failed, name+" failed, and does not say why")
	}
}

// othersSay tells whether the test failed on another entity with an error.
func (t Test) othersSay(id int) bool {
	for _, result := range t.Results {
		if result.ID != id && result.Status == StatusFail && len(result.Errors) > 0 {
			return true
		}
	}
	return false
}

// complete notes what the level has and did not run. To skip is not to pass, and
// a level of which only the software test ran tested nothing.
func complete(f *Finding, ran map[string]Status, tests []expected) {
	var lacking []string
	// Of a level that has no other test the software test is what there is to run.
	hardware := !slices.ContainsFunc(tests, func(e expected) bool { return e.level > 1 }) && ran[software] != "" && !ran[software].idle()
	for _, e := range tests {
		status, there := ran[e.name]
		if there && !status.idle() {
			hardware = hardware || e.level > 1
			continue
		}
		what := e.name + " is missing"
		if there {
			what = e.name + " was skipped"
		}
		if e.only != "" {
			what += " (DCGM runs it " + e.only + ")"
		} else {
			lacking = append(lacking, what)
		}
		f.miss(what)
	}
	switch {
	case len(lacking) == 0:
	case hardware:
		f.note(Doubtful, "the level is not complete: "+strings.Join(lacking, ", "))
	default:
		f.note(NotRun, "no hardware was tested: "+strings.Join(lacking, ", "))
	}
}
