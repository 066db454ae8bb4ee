package xidparse

import (
	"encoding/json"
	"strconv"
)

// journalEntry holds the fields that decide, as journalctl -o json and journal
// gateways print them: each a string, an array of bytes where the text is not
// UTF-8, null where it is too long, or an array of those where the field
// occurs more than once.
type journalEntry struct {
	message, transport, facility journalField
	// uptime is the kernel's own time of the message, received journald's.
	uptime, received, wall journalField
	// log and time are a container's line, as Docker keeps it.
	log, time journalField
}

// field says where a field's value belongs; nil for one that decides nothing.
func (e *journalEntry) field(name string) *journalField {
	switch name {
	case "MESSAGE":
		return &e.message
	case "_TRANSPORT":
		return &e.transport
	case "SYSLOG_FACILITY":
		return &e.facility
	case "_SOURCE_MONOTONIC_TIMESTAMP":
		return &e.uptime
	case "__MONOTONIC_TIMESTAMP":
		return &e.received
	case "__REALTIME_TIMESTAMP":
		return &e.wall
	case "log":
		return &e.log
	case "time":
		return &e.time
	}
	return nil
}

// cutJournal reads one entry of the journal, or any other JSON, which is
// nobody's kernel message.
func cutJournal(s []byte) Line {
	var entry journalEntry
	if !entry.scan(s) {
		entry = journalEntry{}
		if !entry.unmarshal(s) {
			return Line{Text: s}
		}
	}
	return entry.line()
}

// unmarshal reads any JSON object; false for what is none.
func (e *journalEntry) unmarshal(s []byte) bool {
	var fields map[string]journalField
	if json.Unmarshal(s, &fields) != nil {
		return false
	}
	for name, value := range fields {
		if to := e.field(name); to != nil {
			*to = value
		}
	}
	return true
}

func (e *journalEntry) line() Line {
	if e.transport == nil && e.message == nil && e.log != nil {
		line := Cut(e.log).stamped(e.time)
		line.Kernel, line.Tagged = false, true // a container can print anything
		return line
	}
	line := JournalLine(e.message, string(e.transport), string(e.facility))
	return line.stamped(e.uptime).stamped(e.received).stamped(e.wall)
}

// JournalLine is the line of a journal entry with these fields. journald also
// stamps the transport "kernel" on what user space writes to /dev/kmsg; only
// the facility tells, and it is absent on what the kernel prints itself.
func JournalLine(message []byte, transport, facility string) Line {
	line := Line{Tagged: transport != ""}
	line.Text, line.Stamp = cutBrackets(trimLine(message))
	if facility != "" { // what is no number costs an error to say so
		line.Facility, _ = strconv.Atoi(facility)
	}
	line.Kernel = transport == "kernel" && (facility == "" || facility == "0")
	return line
}

// journalField is the text of a field; of several values the first.
type journalField []byte

// UnmarshalJSON never fails on a form that it does not know: that field is
// then empty, and the entry's other fields are read.
func (f *journalField) UnmarshalJSON(data []byte) error {
	*f = journalText(data)
	var values []json.RawMessage
	if *f == nil && json.Unmarshal(data, &values) == nil && len(values) > 0 {
		*f = journalText(values[0])
	}
	return nil
}

// journalText reads one value, a string or an array of bytes.
func journalText(data []byte) []byte {
	var text *string
	if json.Unmarshal(data, &text) == nil && text != nil {
		return []byte(*text)
	}
	// Of []byte encoding/json would want base64.
	var numbers []uint16
	if json.Unmarshal(data, &numbers) != nil {
		return nil
	}
	var b []byte
	for _, n := range numbers {
		b = append(b, byte(n))
	}
	return b
}
