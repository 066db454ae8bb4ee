package logfile

import (
	"bytes"
	"encoding/binary"

	"github.com/gpuhealthd/gpuhealthd/xidparse"
)

// maxField is the journal's own limit of one field's data. A length above it
// is not a length.
const maxField = 768 << 20

// entry is one entry of `journalctl -o export`: lines "FIELD=value", or
// "FIELD", the length in eight bytes and the data where a value is not plain
// text, up to a blank line.
type entry struct {
	message, transport, facility []byte
	// uptime is the kernel's own time of the message, received journald's.
	uptime, received []byte
}

// beginsEntry wants the field that journalctl writes first.
func beginsEntry(line []byte) bool { return bytes.HasPrefix(line, []byte("__CURSOR=")) }

// read reads the fields behind the first line. A line that is no field ends
// the entry and is left to be read as a line: text that merely looks like an
// entry's begin hides nothing.
func (e *entry) read(in *lines) {
	e.clear()
	for {
		line, err := in.next()
		if err != nil {
			return
		}
		if line = bytes.TrimSuffix(line, []byte("\r")); len(line) == 0 {
			return
		}
		name, value, plain := bytes.Cut(line, []byte("="))
		if !isFieldName(name) {
			in.unread()
			return
		}
		to := e.field(name)
		if !plain && !in.data(to) {
			return
		}
		if plain && to != nil && len(*to) == 0 {
			*to = append(*to, value...)
		}
	}
}

func (e *entry) clear() {
	e.message, e.transport, e.facility = e.message[:0], e.transport[:0], e.facility[:0]
	e.uptime, e.received = e.uptime[:0], e.received[:0]
}

func (e *entry) line() xidparse.Line {
	line := xidparse.JournalLine(e.message, string(e.transport), string(e.facility))
	if line.Stamp == nil {
		line.Stamp = e.uptime
	}
	if len(line.Stamp) == 0 {
		line.Stamp = e.received
	}
	return line
}

// field says where a field's value belongs; nil for one that decides nothing.
func (e *entry) field(name []byte) *[]byte {
	switch string(name) {
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
	}
	return nil
}

func isFieldName(s []byte) bool {
	if len(s) == 0 || len(s) > 64 {
		return false
	}
	for _, c := range s {
		if c != '_' && (c < 'A' || c > 'Z') && (c < '0' || c > '9') {
			return false
		}
	}
	return true
}

// data reads a length and as much data, of which it keeps MaxLine. It is false
// where no length stands, and then has read nothing.
func (l *lines) data(to *[]byte) bool {
	head, err := l.in.Peek(8)
	if err != nil {
		return false
	}
	size := binary.LittleEndian.Uint64(head)
	if size > maxField {
		return false
	}
	_, _ = l.in.Discard(8) // just peeked
	for left := int(size) + 1; left > 0; {
		chunk, _ := l.in.Peek(min(left, MaxLine))
		if len(chunk) == 0 {
			return true // the end; next reports it
		}
		l.number += bytes.Count(chunk, []byte("\n"))
		if to != nil {
			keep := min(len(chunk), left-1, MaxLine-len(*to))
			*to = append(*to, chunk[:max(keep, 0)]...)
		}
		_, _ = l.in.Discard(len(chunk))
		left -= len(chunk)
	}
	return true
}
