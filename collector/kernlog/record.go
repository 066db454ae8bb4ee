package kernlog

// Record is one kernel message.
type Record struct {
	// Position is the record's own place. A record that only the journal had, and
	// outside a gap, has its Micros for a sequence.
	Position
	// Micros is the kernel's local clock, microseconds since boot. It drifts
	// against every other clock: good for an age, not for an order.
	Micros uint64
	// Lost counts the records that were lost right before this one: overwritten
	// before they were read, or too long for the reader's buffer.
	Lost uint64
	// Backlog says that the record was in the log before the reader came: the
	// state of the node may have changed since.
	Backlog bool
	// Late says that the record was lost, and was then found in the journal:
	// records behind it have come before it.
	Late bool
	// Userspace says that the facility is not the kernel's. Such a record comes
	// only where Config.AcceptUserspace is set, or without its text where Lost
	// has something to tell.
	Userspace bool
	// Text is the message without the kernel's escapes, any bytes at all. It is
	// valid until the handler returns.
	Text []byte
}
