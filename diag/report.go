package diag

import "fmt"

// Report is what one call of "dcgmi diag -j" answered, whichever generation of
// DCGM said it. It is read, not judged: Judge does that.
type Report struct {
	// Version is DCGM's ("4.6.0") and Driver the display driver's; empty where the
	// answer does not say.
	Version string `json:"version,omitempty"`
	Driver  string `json:"driver,omitempty"`
	// Exit is dcgmi's exit status, -1 where a signal ended it.
	Exit int `json:"exit"`
	// Said is the text before the JSON. An engine that could not be reached is told
	// there; dcgmi then runs one of its own.
	Said string `json:"said,omitempty"`
	// Runtime is why the diagnosis could not run.
	Runtime string `json:"runtime,omitempty"`
	// Broken is why the answer cannot be read: cut off, or no JSON.
	Broken string `json:"broken,omitempty"`
	// Stopped is why we ended it before its time; empty where we did not.
	Stopped Stop `json:"stopped,omitzero"`
	// Runs are the iterations, one unless more were asked for.
	Runs []Run `json:"runs,omitempty"`
}

// Stop is why a diagnosis was ended by us.
type Stop struct {
	// Why is in words for a person.
	Why string `json:"why"`
	// Late: its deadline passed. Else it was called off.
	Late bool `json:"late,omitempty"`
}

// Run is one pass through the tests of a level.
type Run struct {
	Tests []Test `json:"tests"`
}

// Test is one test of a run.
type Test struct {
	// Name is that of DCGM 4, whichever generation ran it; see canonical.
	Name string `json:"name"`
	// Part is one of the checks that DCGM 3 tells apart in its software test.
	Part string `json:"part,omitempty"`
	// Status is the test as a whole.
	Status Status `json:"status"`
	// Errors are those that belong to no entity. They stand nowhere else.
	Errors  []Error  `json:"errors,omitempty"`
	Results []Result `json:"results,omitempty"`
}

// Title is the test's name, with its part.
func (t Test) Title() string {
	if t.Part == "" {
		return t.Name
	}
	return t.Name + " (" + t.Part + ")"
}

// The groups that are told apart.
const (
	gpuGroup = "GPU"
	cpuGroup = "CPU"
)

// Result is one test on one entity. A test may have several for the same one.
type Result struct {
	// Group is what the entity is: "GPU", "CPU", or another word of DCGM's, such as
	// "GPU_I" for a GPU instance.
	Group string `json:"group"`
	// ID is the engine's number of it: no index of the driver's, and good for one
	// answer only.
	ID     int     `json:"id"`
	Status Status  `json:"status"`
	Errors []Error `json:"errors,omitempty"`
}

// Status is how a test ended.
type Status string

// The statuses. DCGM 4 prints a warning of its API as a failure.
const (
	StatusPass   Status = "pass"
	StatusFail   Status = "fail"
	StatusWarn   Status = "warn"
	StatusSkip   Status = "skip"
	StatusNotRun Status = "not-run"
	// StatusUnknown is a word that we do not know.
	StatusUnknown Status = "unknown"
)

// verb is what a test did that ended so, with an error.
func (s Status) verb() string {
	switch s {
	case StatusFail:
		return "failed"
	case StatusWarn:
		return "warns"
	}
	return "ended"
}

// idle tells whether nothing was tested.
func (s Status) idle() bool { return s == StatusSkip || s == StatusNotRun }

// Error is one thing that a test found.
type Error struct {
	// Code is of DCGM's DCGM_FR_ numbers; 0 where the answer gives none.
	Code     int      `json:"code"`
	Severity Severity `json:"severity"`
	Text     string   `json:"text"`
}

// String is the error with its name.
func (e Error) String() string {
	switch name := codeName(e.Code); {
	case e.Code == 0:
		return e.Text
	case name == "":
		return fmt.Sprintf("%s (code %d)", e.Text, e.Code)
	default:
		return fmt.Sprintf("%s (%s, code %d)", e.Text, name, e.Code)
	}
}
