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
	Message   journalField `json:"MESSAGE"`
	Transport journalField `json:"_TRANSPORT"`
	Facility  journalField `json:"SYSLOG_FACILITY"`
	// Uptime is the kernel's own time of the message, Received journald's.
	Uptime   journalField `json:"_SOURCE_MONOTONIC_TIMESTAMP"`
	Received journalField `json:"__MONOTONIC_TIMESTAMP"`
	Wall     journalField `json:"__REALTIME_TIMESTAMP"`
	// Log and Time are a container's line, as Docker keeps it.
	Log  journalField `json:"log"`
	Time journalField `json:"time"`
}

// cutJournal reads one entry of the journal, or any other JSON, which is
// nobody's kernel message.
func cutJournal(s []byte) Line {
	var entry journalEntry
	if err := json.Unmarshal(s, &entry); err != nil {
		return Line{Text: s}
	}
	if entry.Transport == nil && entry.Message == nil && entry.Log != nil {
		line := Cut(entry.Log).stamped(entry.Time)
		line.Kernel, line.Tagged = false, true // a container can print anything
		return line
	}
	line := JournalLine(entry.Message, string(entry.Transport), string(entry.Facility))
	return line.stamped(entry.Uptime).stamped(entry.Received).stamped(entry.Wall)
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
