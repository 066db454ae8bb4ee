package xidparse

import "strings"

// Severity is the driver's own word on an error of a link or a switch. It is
// no verdict: some errors printed as fatal are to be ignored.
type Severity uint8

// The severities. The zero value is not told.
const (
	SeverityUnknown Severity = iota
	SeverityCorrectable
	SeverityNonfatal
	SeverityFatal
)

// String gives the severity as the driver spells it.
func (s Severity) String() string {
	switch s {
	case SeverityCorrectable:
		return "Correctable"
	case SeverityNonfatal:
		return "Nonfatal"
	case SeverityFatal:
		return "Fatal"
	}
	return "unknown"
}

// SwitchSeverity is the severity of a KindSXID line, from its word or from the
// number of its "Severity" line.
func (e Event) SwitchSeverity() Severity {
	if e.Kind != KindSXID {
		return SeverityUnknown
	}
	switch {
	case strings.HasPrefix(e.Message, "Fatal"), strings.HasPrefix(e.Message, "Severity 1 "):
		return SeverityFatal
	case strings.HasPrefix(e.Message, "Non-fatal"), strings.HasPrefix(e.Message, "Severity 0 "):
		return SeverityNonfatal
	case strings.HasPrefix(e.Message, "Correctable"):
		return SeverityCorrectable
	}
	return SeverityUnknown
}
