package dcgm

import "time"

// Values are the watched fields of every GPU, from the engine's cache.
type Values struct {
	GPUs []GPU `json:"gpus"`
	// Dropped is how many policy violations were lost since the child began.
	Dropped uint64 `json:"dropped,omitempty"`
}

// GPU is what the engine's cache holds of one.
type GPU struct {
	Entity
	// Status is DCGM's: 0 unknown, 1 ok, 2 unsupported, 3 inaccessible, 4 lost,
	// 5 fake, 6 disabled, 7 detached.
	Status int `json:"status"`
	// Lost: the status says so, or the GPU left the list of supported ones.
	Lost bool `json:"lost,omitempty"`
	// Blank: not one field has a value. A GPU that had values and goes blank is
	// lost, or its GSP is gone; the engine calls it healthy all the same.
	Blank bool `json:"blank,omitempty"`
	// Fields are values by DCGM's field number, blanks left out: what is not
	// here is unknown. FieldXID is not among them.
	Fields map[int]float64 `json:"fields,omitempty"`
	// XID is the last that the engine knows of; nil is none.
	XID *XID `json:"xid,omitempty"`
	// Error is why the fields could not be read.
	Error *Error `json:"error,omitempty"`
}

// XID is a GPU's last: it never clears.
type XID struct {
	Code int `json:"code"`
	// At is when, by the engine's clock: two equal XIDs differ in it.
	At time.Time `json:"at"`
}

// Condition is the policy that was violated.
type Condition string

// The conditions.
const (
	DoubleBit    Condition = "dbe"
	PCIe         Condition = "pcie"
	RetiredPages Condition = "retired-pages"
	Thermal      Condition = "thermal"
	Power        Condition = "power"
	NVLink       Condition = "nvlink"
	XIDPolicy    Condition = "xid"
)

// Violation is a policy violation: an event, as it happens.
type Violation struct {
	Entity
	Condition Condition `json:"condition"`
	// At is when, by the engine's clock, to the second.
	At time.Time `json:"at"`
	// Value is the number of errors, replays or pages, the temperature in
	// degrees Celsius, the power in watts, the link's counter, or the XID.
	Value int `json:"value"`
	// Field is the counter of an NVLink violation, 0 for others.
	Field int `json:"field,omitempty"`
}
