package nvml

import (
	"fmt"
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
	KindHello     Kind = "hello"
	KindInventory Kind = "inventory"
	KindHung      Kind = "hung"
	KindFailed    Kind = "failed"
	KindXID       Kind = "xid"
	KindDied      Kind = "died"
)

// Report is one thing that the child said, or that the parent noticed about the
// child. Exactly the part that Kind names is set.
type Report struct {
	V         int        `json:"v"`
	Kind      Kind       `json:"kind"`
	Hello     *Hello     `json:"hello,omitempty"`
	Inventory *Inventory `json:"inventory,omitempty"`
	Hung      *Hung      `json:"hung,omitempty"`
	Failed    *Error     `json:"failed,omitempty"`
	XID       *XID       `json:"xid,omitempty"`
	Died      *Died      `json:"died,omitempty"`
}

// Hello is said once the library is open, before the first poll.
type Hello struct {
	// Driver and NVML are versions, as in Inventory.
	Driver string `json:"driver"`
	NVML   string `json:"nvml"`
	// Lacks are the functions that the library does not have, and whose values
	// are therefore unknown or had in another way.
	Lacks []string `json:"lacks,omitempty"`
}

// Error is a call that answered with an error, or another thing that failed.
type Error struct {
	// Op is NVML's function, or what the parent was at.
	Op string `json:"op"`
	// Code is NVML's return value, such as 18 for a version mismatch; 0 where
	// the failure is not NVML's.
	Code int    `json:"code,omitempty"`
	Text string `json:"text"`
}

// Error makes it one.
func (e *Error) Error() string {
	if e.Code == 0 {
		return fmt.Sprintf("%s: %s", e.Op, e.Text)
	}
	return fmt.Sprintf("%s: %s (NVML %d)", e.Op, e.Text, e.Code)
}

// NoAnswer is Hung.Call where the child said nothing for so long that it cannot
// be told what it hangs in.
const NoAnswer = "no answer"

// Hung is a driver call that is past its deadline. It is reported again every
// period while it lasts; the next inventory without a Stuck GPU ends it.
type Hung struct {
	// Call is NVML's function, or NoAnswer.
	Call string `json:"call"`
	// Index and UUID name the GPU; Index is nil where the call is about none,
	// UUID is empty where it is not known.
	Index *int   `json:"index,omitempty"`
	UUID  string `json:"uuid,omitempty"`
	// Seconds since the call began, or since the child's last line.
	Seconds float64 `json:"seconds"`
	// Child says which child it is that gives NoAnswer.
	Child string `json:"child,omitempty"`
}

// XID is an event of the driver's event set: the code of a kernel log line, and
// nothing of its text.
type XID struct {
	Code int `json:"code"`
	// UUID names the GPU; empty where it could not be asked since the child
	// began.
	UUID string `json:"uuid,omitempty"`
	// GI and CI are the MIG instance's; nil where the event is about none.
	GI *int `json:"gi,omitempty"`
	CI *int `json:"ci,omitempty"`
	// Count is how many of these came since the last report, at least 1.
	Count int `json:"count"`
}

// Died is the end of a child that nobody asked to end.
type Died = child.Died

// HelloReport wraps a greeting.
func HelloReport(h Hello) Report { return Report{V: ProtocolVersion, Kind: KindHello, Hello: &h} }

// InventoryReport wraps an inventory.
func InventoryReport(i Inventory) Report {
	return Report{V: ProtocolVersion, Kind: KindInventory, Inventory: &i}
}

// HungReport wraps a hung call.
func HungReport(h Hung) Report { return Report{V: ProtocolVersion, Kind: KindHung, Hung: &h} }

// FailedReport wraps a failure.
func FailedReport(e Error) Report { return Report{V: ProtocolVersion, Kind: KindFailed, Failed: &e} }

// XIDReport wraps an XID.
func XIDReport(x XID) Report { return Report{V: ProtocolVersion, Kind: KindXID, XID: &x} }

func diedReport(d Died) Report { return Report{V: ProtocolVersion, Kind: KindDied, Died: &d} }

// Write writes the report as one line.
func (r Report) Write(w io.Writer) error {
	return child.WriteLine(w, r)
}

// Version is the protocol's, as the line says.
func (r Report) Version() int { return r.V }

// Whole says that the kind is known and its part is there.
func (r Report) Whole() bool {
	return map[Kind]bool{
		KindHello:     r.Hello != nil,
		KindInventory: r.Inventory != nil,
		KindHung:      r.Hung != nil,
		KindFailed:    r.Failed != nil,
		KindXID:       r.XID != nil,
	}[r.Kind]
}

// parseReport reads a child's line.
func parseReport(line []byte) (Report, error) { return child.ParseLine[Report](line, ProtocolVersion) }

// inCall says whether a child whose last word this is may be inside a driver
// call that does not return. After its hello it is in the first poll.
func (r Report) inCall() bool {
	if r.Kind == KindInventory {
		for _, g := range r.Inventory.GPUs {
			if g.Stuck != "" {
				return true
			}
		}
		return r.Inventory.Stuck != nil
	}
	return r.Kind == KindHello || r.Kind == KindHung
}
