package diag

import (
	"fmt"

	"github.com/gpuhealthd/gpuhealthd/fault"
)

// Severity is how bad DCGM thinks an error is; its own numbers.
type Severity int

// The severities, from dcgm_errors.h of DCGM 4.
const (
	SeverityNone Severity = iota
	SeverityMonitor
	SeverityIsolate
	SeverityUnknown
	SeverityTriage
	SeverityConfig
	SeverityReset
)

// severity is what follows from one.
type severity struct {
	name string
	// hint is what a failure of that severity asks for.
	hint fault.Action
	// fails: the GPU failed. Else the test did, for a reason that is not the GPU's
	// or is no more than worth watching: the result is doubtful.
	fails bool
}

// severities has the order of the numbers. The meanings are those of the error
// table of NVIDIA's DCGM diagnostics guide: isolate is to take the GPU out of
// service, triage to look deeper, config to correct the node's set-up.
var severities = [...]severity{
	SeverityNone:    {"none", fault.None, false},
	SeverityMonitor: {"monitor", fault.Record, false},
	SeverityIsolate: {"isolate", fault.Replace, true},
	SeverityUnknown: {"unknown", fault.Hold, true},
	SeverityTriage:  {"triage", fault.Diag, true},
	SeverityConfig:  {"config", fault.Hold, false},
	SeverityReset:   {"reset", fault.Reset, true},
}

// wishes are the codes by which DCGM passes on what the driver itself wants: the
// arbiter outranks the severity. Codes from dcgm_errors.h of 4.6; actions as for
// XID 154.
var wishes = [...]struct {
	code int
	hint fault.Action
}{
	{120, fault.Reboot}, // FALLEN_OFF_BUS
	{125, fault.Reset},  // GPU_RECOVERY_RESET
	{126, fault.Reboot}, // GPU_RECOVERY_REBOOT
	{127, fault.Hold},   // GPU_RECOVERY_DRAIN_P2P: peer traffic must drain
	{128, fault.Reset},  // GPU_RECOVERY_DRAIN_RESET
	{130, fault.Diag},   // RETEST_REQUESTED
}

// condemns tells whether a failure with that error is the GPU's. One to look
// deeper at, of software or of DCGM itself, is not: no memory to be had, or no
// context, is what a GPU says that somebody else uses.
func (e Error) condemns() bool {
	return e.Severity.row().fails && (e.Severity != SeverityTriage || !codeSoftware(e.Code))
}

// row gives what follows from a severity; a number that we do not know is
// unknown.
func (s Severity) row() severity {
	if s < 0 || int(s) >= len(severities) {
		s = SeverityUnknown
	}
	return severities[s]
}

// String is DCGM's word for it.
func (s Severity) String() string { return s.row().name }

// MarshalText writes DCGM's word for it.
func (s Severity) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads what MarshalText has written.
func (s *Severity) UnmarshalText(text []byte) error {
	for n, row := range severities {
		if row.name == string(text) {
			*s = Severity(n)
			return nil
		}
	}
	return fmt.Errorf("%q is no severity of DCGM's", text)
}

// hint is what an error asks for.
func (e Error) hint() fault.Action {
	for _, w := range wishes {
		if w.code == e.Code {
			return w.hint
		}
	}
	return e.Severity.row().hint
}
