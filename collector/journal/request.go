package journal

import (
	"encoding/json"
	"fmt"
)

// Request is one thing that the parent wants. Exactly one part is set.
type Request struct {
	Follow *Place `json:"follow,omitempty"`
	Fill   *Span  `json:"fill,omitempty"`
}

// Place is where to go on reading.
type Place struct {
	// Boot is the running boot's id. Entries of other boots are left out.
	Boot string `json:"boot"`
	// Cursor is of the last entry that was handled; empty is none.
	Cursor string `json:"cursor,omitempty"`
	// After is the kernel's clock at the last record of this boot that was
	// handled, in microseconds. It counts where the cursor is gone.
	After uint64 `json:"after,omitempty"`
}

// Span is a stretch of one boot by the kernel's clock, in microseconds, both
// ends inside.
type Span struct {
	Boot string `json:"boot"`
	From uint64 `json:"from"`
	To   uint64 `json:"to"`
}

// Line is the request as the child reads it.
func (r Request) Line() ([]byte, error) {
	line, err := json.Marshal(r)
	if err != nil {
		return nil, fmt.Errorf("request to the journal: %w", err)
	}
	return append(line, '\n'), nil
}

// ParseRequest reads a parent's line.
func ParseRequest(line []byte) (Request, error) {
	var r Request
	if err := json.Unmarshal(line, &r); err != nil {
		return Request{}, fmt.Errorf("request %.80q: %w", line, err)
	}
	if (r.Follow == nil) == (r.Fill == nil) {
		return Request{}, fmt.Errorf("request %.80q: want one of the fields follow and fill", line)
	}
	return r, nil
}
