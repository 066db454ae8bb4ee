package nvml

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/gpuhealthd/gpuhealthd/collector/child"
	"github.com/gpuhealthd/gpuhealthd/xidparse"
)

// ProtocolVersion is the version that both sides write as "v". Unknown fields
// of the same version are skipped; another version is refused.
const ProtocolVersion = 1

// Kind tells which of a Report's parts is set.
type Kind string

// The kinds of a Report. Died never comes from the child itself.
const (
	KindInventory Kind = "inventory"
	KindHung      Kind = "hung"
	KindFailed    Kind = "failed"
	KindDied      Kind = "died"
)

// Report is one thing that the child said, or that the parent noticed about the
// child. Exactly the part that Kind names is set.
type Report struct {
	V         int        `json:"v"`
	Kind      Kind       `json:"kind"`
	Inventory *Inventory `json:"inventory,omitempty"`
	Hung      *Hung      `json:"hung,omitempty"`
	Failed    *Error     `json:"failed,omitempty"`
	Died      *Died      `json:"died,omitempty"`
}

// Inventory is one poll of every GPU that the driver lists.
type Inventory struct {
	// Driver and NVML are versions, such as 570.195.03; empty is unknown.
	Driver string `json:"driver"`
	NVML   string `json:"nvml"`
	// GPUs has one entry for each index that the driver counted when the child
	// began, also for those that could not be asked.
	GPUs []GPU `json:"gpus"`
}

// Identity is what a GPU is known by. All of it is unknown while UUID is empty:
// the GPU could not be asked since the child began.
type Identity struct {
	UUID string       `json:"uuid,omitempty"`
	PCI  xidparse.PCI `json:"pci,omitzero"`
	// Serial and Name are empty where the board does not tell.
	Serial string `json:"serial,omitempty"`
	Name   string `json:"name,omitempty"`
	// Minor is N of /dev/nvidiaN; nil is unknown.
	Minor *int `json:"minor,omitempty"`
}

// GPU is one GPU at one poll. A nil pointer is unknown: not asked, not supported
// by this driver or GPU, or not answered (then Error or Stuck says so).
type GPU struct {
	// Index is NVML's, from 0. It names nothing beyond this child's life.
	Index int `json:"index"`
	Identity
	// MIG is whether MIG mode is on.
	MIG *bool `json:"mig,omitempty"`
	// Recovery is NVML's field 230, what the driver wants done: 0 nothing, 1
	// GPU reset, 2 node reboot, 3 drain P2P, 4 drain and reset, 5 recover the
	// IMEX domain, 6 bus reset, 7 system reboot.
	Recovery *int `json:"recovery,omitempty"`
	// Remap is the state of row remapping.
	Remap *Remap `json:"remap,omitempty"`
	// Lost: the driver says that the GPU is off the bus (NVML error 15).
	Lost bool `json:"lost,omitempty"`
	// Stuck is the call that has not returned within its deadline. While it is
	// set the GPU is not asked again and the values are of no poll.
	Stuck string `json:"stuck,omitempty"`
	// Error is the first call that failed in this poll, lost GPUs included. "Not
	// supported" is no failure.
	Error *Error `json:"error,omitempty"`
}

// Remap is the state of a GPU's row remapping.
type Remap struct {
	// Pending: rows wait for a reset to be remapped.
	Pending bool `json:"pending"`
	// Failed: a remapping failed at some time in the board's life.
	Failed bool `json:"failed"`
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
}

// Died is the end of a child that nobody asked to end.
type Died = child.Died

// InventoryReport wraps an inventory.
func InventoryReport(i Inventory) Report {
	return Report{V: ProtocolVersion, Kind: KindInventory, Inventory: &i}
}

// HungReport wraps a hung call.
func HungReport(h Hung) Report { return Report{V: ProtocolVersion, Kind: KindHung, Hung: &h} }

// FailedReport wraps a failure.
func FailedReport(e Error) Report { return Report{V: ProtocolVersion, Kind: KindFailed, Failed: &e} }

func diedReport(d Died) Report { return Report{V: ProtocolVersion, Kind: KindDied, Died: &d} }

// Write writes the report as one line.
func (r Report) Write(w io.Writer) error {
	line, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("report %s: %w", r.Kind, err)
	}
	if _, err := w.Write(append(line, '\n')); err != nil {
		return fmt.Errorf("report %s: %w", r.Kind, err)
	}
	return nil
}

// parseReport reads a child's line.
func parseReport(line []byte) (Report, error) {
	var r Report
	if err := json.Unmarshal(line, &r); err != nil {
		return Report{}, fmt.Errorf("child's line %.80q: %w", line, err)
	}
	if r.V != ProtocolVersion {
		return Report{}, fmt.Errorf("child's line %.80q: field v: %d, want %d", line, r.V, ProtocolVersion)
	}
	part := map[Kind]bool{
		KindInventory: r.Inventory != nil,
		KindHung:      r.Hung != nil,
		KindFailed:    r.Failed != nil,
	}
	if !part[r.Kind] {
		return Report{}, fmt.Errorf("child's line %.80q: field kind: %q is unknown or its part is missing", line, r.Kind)
	}
	return r, nil
}

// inCall says whether a child whose last word this is may be inside a driver
// call that does not return.
func (r Report) inCall() bool {
	if r.Kind == KindInventory {
		for _, g := range r.Inventory.GPUs {
			if g.Stuck != "" {
				return true
			}
		}
		return false
	}
	return r.Kind == KindHung
}
