package dcgm

import (
	"io"

	"github.com/gpuhealthd/gpuhealthd/collector/child"
)

// ProtocolVersion is the version that both sides write as "v". Unknown fields
// of the same version are skipped; another version is refused.
const ProtocolVersion = 1

// Kind tells which of a Report's parts is set.
type Kind string

// The kinds of a Report. Died never comes from the child itself.
const (
	KindUp        Kind = "up"
	KindAbsent    Kind = "absent"
	KindHealth    Kind = "health"
	KindValues    Kind = "values"
	KindViolation Kind = "violation"
	KindHung      Kind = "hung"
	KindFailed    Kind = "failed"
	KindDied      Kind = "died"
)

// Report is one thing that the child said, or that the parent noticed about the
// child. Exactly the part that Kind names is set.
type Report struct {
	V         int         `json:"v"`
	Kind      Kind        `json:"kind"`
	Up        *Up         `json:"up,omitempty"`
	Absent    *Absent     `json:"absent,omitempty"`
	Health    *Health     `json:"health,omitempty"`
	Values    *Values     `json:"values,omitempty"`
	Violation *Violation  `json:"violation,omitempty"`
	Hung      *Hung       `json:"hung,omitempty"`
	Failed    *Error      `json:"failed,omitempty"`
	Died      *child.Died `json:"died,omitempty"`
}

// UpReport wraps a connection that is made.
func UpReport(u Up) Report { return Report{V: ProtocolVersion, Kind: KindUp, Up: &u} }

// AbsentReport wraps the want of a connection.
func AbsentReport(a Absent) Report {
	return Report{V: ProtocolVersion, Kind: KindAbsent, Absent: &a}
}

// HealthReport wraps a health check.
func HealthReport(h Health) Report {
	return Report{V: ProtocolVersion, Kind: KindHealth, Health: &h}
}

// ValuesReport wraps field values.
func ValuesReport(v Values) Report {
	return Report{V: ProtocolVersion, Kind: KindValues, Values: &v}
}

// ViolationReport wraps a policy violation.
func ViolationReport(v Violation) Report {
	return Report{V: ProtocolVersion, Kind: KindViolation, Violation: &v}
}

// HungReport wraps a call that does not return.
func HungReport(h Hung) Report { return Report{V: ProtocolVersion, Kind: KindHung, Hung: &h} }

// FailedReport wraps a call that failed.
func FailedReport(e Error) Report { return Report{V: ProtocolVersion, Kind: KindFailed, Failed: &e} }

func diedReport(d child.Died) Report { return Report{V: ProtocolVersion, Kind: KindDied, Died: &d} }

// Write writes the report as one line.
func (r Report) Write(w io.Writer) error {
	return child.WriteLine(w, r)
}

// Version is the protocol's, as the line says.
func (r Report) Version() int { return r.V }

// Whole says that the kind is known and its part is there.
func (r Report) Whole() bool {
	return map[Kind]bool{
		KindUp:        r.Up != nil,
		KindAbsent:    r.Absent != nil,
		KindHealth:    r.Health != nil,
		KindValues:    r.Values != nil,
		KindViolation: r.Violation != nil,
		KindHung:      r.Hung != nil,
		KindFailed:    r.Failed != nil,
	}[r.Kind]
}

// parseReport reads a child's line.
func parseReport(line []byte) (Report, error) { return child.ParseLine[Report](line, ProtocolVersion) }
