package dcgm

import "fmt"

// Up says that the engine is connected and watched. It is said again when the
// engine lists other GPUs.
type Up struct {
	// Engine is DCGM's version, such as 4.6.0; empty is unknown.
	Engine string `json:"engine,omitempty"`
	// GPUs are all that the engine lists, lost ones included. There are none
	// where the driver is not loaded, and the engine calls that healthy.
	GPUs []Entity `json:"gpus"`
	// Switches is the number of NVSwitches that the engine lists.
	Switches int `json:"switches"`
}

// Reason is why there is no connection to an engine.
type Reason string

// The reasons. Each is a state of the node's software and no fault of a GPU.
const (
	// NoLibrary: libdcgm.so.4 is not installed.
	NoLibrary Reason = "no-library"
	// NoEngine: nothing answers at the address.
	NoEngine Reason = "no-engine"
	// EngineLost: the connection broke (DCGM -21): the engine ended.
	EngineLost Reason = "engine-lost"
	// TimedOut: the library gave up waiting (DCGM -11): the engine is stopped.
	TimedOut Reason = "timed-out"
	// WrongVersion: the engine speaks other structures (DCGM -12), as 3.x does.
	WrongVersion Reason = "wrong-version"
	// NotWatched: the engine refused a watch.
	NotWatched Reason = "not-watched"
)

// Absent says that there is no connection, or none any more. The child ends
// after it; the parent starts another later.
type Absent struct {
	Reason Reason `json:"reason"`
	Error
}

// Error is a call that answered with an error, or another thing that failed.
type Error struct {
	// Op is DCGM's function, or what the parent was at.
	Op string `json:"op"`
	// Code is DCGM's return value, such as -34 where it is in use; 0 where
	// go-dcgm does not tell, or the failure is not DCGM's.
	Code int    `json:"code,omitempty"`
	Text string `json:"text"`
}

// Error makes it one.
func (e *Error) Error() string {
	if e.Code == 0 {
		return fmt.Sprintf("%s: %s", e.Op, e.Text)
	}
	return fmt.Sprintf("%s: %s (DCGM %d)", e.Op, e.Text, e.Code)
}

// Hung is a call that is past its deadline. It is reported again every deadline
// while it lasts; any report of another kind from the child ends it.
type Hung struct {
	// Call is DCGM's function, or what the parent says of a child that is silent.
	Call string `json:"call"`
	// Seconds since the call began, or since the child's last line.
	Seconds float64 `json:"seconds"`
	// Child says which child it is that gives NoAnswer.
	Child string `json:"child,omitempty"`
}
