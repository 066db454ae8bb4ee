package replay

import (
	"github.com/gpuhealthd/gpuhealthd/fault"
	"github.com/gpuhealthd/gpuhealthd/nvlink"
	"github.com/gpuhealthd/gpuhealthd/remediate"
	"github.com/gpuhealthd/gpuhealthd/xidparse"
)

// Finding is one message of a log and all that came of it. At most one of
// Event, Gap, Ignored and Booted is set; with none of them the time that passed
// before the message has changed something.
type Finding struct {
	// File is the log's name, and empty when there is one log only.
	File string
	// Line counts from 1.
	Line int
	// Time is the message's own, where the log gave one.
	Time  xidparse.Time
	Event xidparse.Event
	// Gap says that messages are missing in front of this one, Missing how many,
	// 0 where nobody knows.
	Gap     bool
	Missing uint64
	// Ignored says why a message that looks like an event is none.
	Ignored string
	// Booted: the host was booted anew here.
	Booted bool
	// Text is the message, where there is no event.
	Text    string
	Changes []Change
}

// Change is a verdict that has changed, and what would be done about it.
type Change struct {
	Verdict fault.Verdict
	// Steps are the plan's for the incident; nil where it has none.
	Steps []remediate.Step
}

// Printer shows what a replay finds, in the order of the input.
type Printer interface {
	Finding(Finding) error
	// End comes once, with where the replay ends.
	End(Outcome) error
}

// outBuffer is how many bytes a printer gathers before it writes: a flood in
// JSON is twice its log.
const outBuffer = 64 << 10

// Outcome is where a replay ends.
type Outcome struct {
	Open      []fault.Verdict
	Incidents []remediate.Incident
	// Topology is the node's, nil where nobody gave one.
	Topology *nvlink.Topology
	// Messages were read, of which Events are the driver's, Ignored only look
	// like it, and Missing more are missing by the log's own word.
	Messages, Events, Ignored int
	Missing                   uint64
	// Uncounted are the gaps of which nobody knows how many they miss.
	Uncounted int
	// Overlong are the lines that were read to logfile.MaxLine only.
	Overlong int
	// Known are the messages whose line has a transport's form: a time, a
	// writer, or the driver's own tag.
	Known int
}
