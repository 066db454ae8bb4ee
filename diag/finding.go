package diag

import (
	"slices"

	"github.com/gpuhealthd/gpuhealthd/fault"
)

// Verdict is what a diagnosis says of one GPU.
type Verdict string

// The verdicts.
const (
	// Passed: every test that the level must have ran and found nothing.
	Passed Verdict = "pass"
	// Failed: a test found the GPU at fault.
	Failed Verdict = "fail"
	// Doubtful: it ran, and its answer proves neither.
	Doubtful Verdict = "doubtful"
	// NotRun: no hardware was tested. It says nothing of the GPU.
	NotRun Verdict = "not-run"
	// Aborted: it was called off. It says nothing of the GPU.
	Aborted Verdict = "aborted"
)

// strength is the order in which verdicts outrank each other: what was found
// stands, whatever came after.
var strength = [...]Verdict{Passed, NotRun, Doubtful, Aborted, Failed}

// Failure is one error of one test on a GPU.
type Failure struct {
	Test string `json:"test"`
	Error
}

// Finding is the verdict on one GPU, with what it rests on.
type Finding struct {
	// GPU is a UUID.
	GPU     string  `json:"gpu"`
	Verdict Verdict `json:"verdict"`
	// Hint is the strongest action that the GPU's errors ask for by their severity;
	// none where they ask for nothing. It decides nothing.
	Hint fault.Action `json:"hint"`
	// Failures are the GPU's errors, those that are doubted as well.
	Failures []Failure `json:"failures,omitempty"`
	// Missing are tests of the level that did not run on it, by name.
	Missing []string `json:"missing,omitempty"`
	// Reasons say why the verdict is not pass, one sentence each.
	Reasons []string `json:"reasons,omitempty"`
}

// note raises the verdict to v if that is stronger, and keeps the reason.
func (f *Finding) note(v Verdict, reason string) {
	if slices.Index(strength[:], v) > slices.Index(strength[:], f.Verdict) {
		f.Verdict = v
	}
	if !slices.Contains(f.Reasons, reason) {
		f.Reasons = append(f.Reasons, reason)
	}
}

// blame keeps an error, and notes what it means.
func (f *Finding) blame(v Verdict, test string, e Error, reason string) {
	failure := Failure{Test: test, Error: e}
	if !slices.Contains(f.Failures, failure) {
		f.Failures = append(f.Failures, failure)
	}
	f.note(v, reason)
}

// miss keeps the name of a test that did not run, once.
func (f *Finding) miss(what string) {
	if !slices.Contains(f.Missing, what) {
		f.Missing = append(f.Missing, what)
	}
}
