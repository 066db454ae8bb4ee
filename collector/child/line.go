package child

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
)

// Versioned is a report that a child writes as one line.
type Versioned interface {
	// Version is that of the protocol.
	Version() int
	// Whole says that the kind is known and its part is there.
	Whole() bool
}

// WriteLine writes a report as one line of JSON.
func WriteLine(w io.Writer, report any) error {
	var line bytes.Buffer
	encoder := json.NewEncoder(&line)
	encoder.SetEscapeHTML(false) // what a driver says may hold <<<NULL>>>
	if err := encoder.Encode(report); err != nil {
		return fmt.Errorf("report: %w", err)
	}
	if _, err := w.Write(line.Bytes()); err != nil {
		return fmt.Errorf("report: %w", err)
	}
	return nil
}

// ParseLine reads a child's line of a version. A child is not trusted: what is
// unknown or lacks a part is an error that quotes its beginning.
func ParseLine[R Versioned](line []byte, version int) (R, error) {
	var r, none R
	if err := json.Unmarshal(line, &r); err != nil {
		return none, fmt.Errorf("child's line %.80q: %w", line, err)
	}
	if got := r.Version(); got != version {
		return none, fmt.Errorf("child's line %.80q: field v: %d, want %d", line, got, version)
	}
	if !r.Whole() {
		return none, fmt.Errorf("child's line %.80q: field kind: unknown, or its part is missing", line)
	}
	return r, nil
}
