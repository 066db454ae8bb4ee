package journal

import (
	"io"
	"time"

	"github.com/gpuhealthd/gpuhealthd/collector/child"
)

// ProtocolVersion is the version that the child writes as "v". Unknown fields of
// the same version are skipped; another version is refused.
const ProtocolVersion = 1

// MaxText is how much of a message is read, in bytes. The kernel's longest is
// half of it.
const MaxText = 16 << 10

// AliveEvery is how long a child that has nothing to say says nothing.
const AliveEvery = 30 * time.Second

// MaxLine is above the longest line of the child: see its batches.
const MaxLine = 128 << 10

// Kind tells what a Report says.
type Kind string

// The kinds of a Report.
const (
	// KindOpened: the journal at Path was opened, again where it was before.
	KindOpened Kind = "opened"
	// KindEntries: Entries were read, the last of them at Cursor. There are none
	// in the one that says that the end was reached.
	KindEntries Kind = "entries"
	// KindFilled: Entries lie in Span; Done says that no more will come.
	KindFilled Kind = "filled"
	// KindFailed: the journal cannot be read at present, by Error. The child
	// goes on trying.
	KindFailed Kind = "failed"
	// KindAlive: nothing was to be read for a while.
	KindAlive Kind = "alive"
)

// Report is one thing that the child says.
type Report struct {
	V       int     `json:"v"`
	Kind    Kind    `json:"kind"`
	Path    string  `json:"path,omitempty"`
	Entries []Entry `json:"entries,omitempty"`
	Cursor  string  `json:"cursor,omitempty"`
	// Empty says of an opened journal that it has no entry of this boot: it may be
	// nobody's.
	Empty bool `json:"empty,omitempty"`
	// Backlog says that the child had not come to the journal's end before.
	Backlog bool   `json:"backlog,omitempty"`
	Span    *Span  `json:"span,omitempty"`
	Done    bool   `json:"done,omitempty"`
	Error   string `json:"error,omitempty"`
}

// Origin says whose an entry is.
type Origin string

// The origins.
const (
	// Kernel is a record of the kernel's log, user space's writes included.
	Kernel Origin = "kernel"
	// Unit is a line that a unit's own process wrote.
	Unit Origin = "unit"
	// Manager is what systemd itself says of a unit.
	Manager Origin = "manager"
	// Kata is a line of a guest's console.
	Kata Origin = "kata"
)

// Entry is one entry of the journal. All of it that says who wrote it was set by
// journald itself, and cannot be forged by a process that only logs.
type Entry struct {
	Origin Origin `json:"origin"`
	// Unit is the unit's name where the origin is Unit or Manager.
	Unit string `json:"unit,omitempty"`
	// MessageID tells one thing that systemd says from another.
	MessageID string `json:"id,omitempty"`
	// Micros is the kernel's clock at a record of the kernel, the very number
	// that /dev/kmsg gives; else journald's clock since boot.
	Micros uint64 `json:"micros"`
	// Userspace says that the facility is not the kernel's.
	Userspace bool `json:"userspace,omitempty"`
	// Missed is how many kernel records journald did not get before this entry,
	// at least. It has no text where that is all it says.
	Missed uint64 `json:"missed,omitempty"`
	// Text is the message, any bytes at all, at most MaxText of them.
	Text []byte `json:"text,omitempty"`
}

// Write writes the report as one line.
func (r Report) Write(w io.Writer) error {
	r.V = ProtocolVersion
	return child.WriteLine(w, r)
}

// Version is the protocol's, as the line says.
func (r Report) Version() int { return r.V }

// Whole says that the kind is known and has its part.
func (r Report) Whole() bool {
	switch r.Kind {
	case KindOpened, KindEntries, KindFailed, KindAlive:
		return true
	case KindFilled:
		return r.Span != nil
	}
	return false
}

// parseReport reads a child's line.
func parseReport(line []byte) (Report, error) { return child.ParseLine[Report](line, ProtocolVersion) }
