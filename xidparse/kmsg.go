package xidparse

import (
	"bytes"
	"errors"
	"fmt"
)

// Kmsg is the head of one /dev/kmsg record (Documentation/ABI/testing/dev-kmsg).
type Kmsg struct {
	// Priority is facility<<3 | level; facility 0 is the kernel's own.
	Priority int
	// Sequence numbers the record since boot.
	Sequence uint64
	// Micros is the kernel's local clock in microseconds since boot.
	Micros uint64
	// Text is the escaped message, without the KEY=value lines behind it. It
	// aliases the record.
	Text []byte
}

// Facility is 0 for text that the kernel printed itself; user space that
// writes to /dev/kmsg cannot have it.
func (k Kmsg) Facility() int { return k.Priority >> 3 }

var errNoSemicolon = errors.New("no ';' behind the header")

// CutKmsg reads one record, "priority,sequence,microseconds,flags[,more];text\n"
// and possibly " KEY=value" lines. Unknown header fields are skipped, and a
// continuation flag makes no difference: the driver sets it on whole messages.
func CutKmsg(record []byte) (Kmsg, error) {
	semi := bytes.IndexByte(record, ';')
	if semi < 0 {
		return Kmsg{}, fmt.Errorf("kmsg record %.40q: %w", record, errNoSemicolon)
	}
	head, rest := record[:semi], record[semi+1:]
	var k Kmsg
	var prio uint64
	for i, field := range []*uint64{&prio, &k.Sequence, &k.Micros} {
		n, end := decimal(head)
		if end == 0 || (end < len(head) && head[end] != ',') {
			return Kmsg{}, fmt.Errorf("kmsg record %.40q: header field %d is not a number", record, i+1)
		}
		*field = n
		head = head[min(end+1, len(head)):]
	}
	if prio > 1<<15 {
		return Kmsg{}, fmt.Errorf("kmsg record %.40q: priority %d out of range", record, prio)
	}
	k.Priority = int(prio)
	if end := bytes.IndexByte(rest, '\n'); end >= 0 {
		rest = rest[:end]
	}
	k.Text = rest
	return k, nil
}

// decimal reads the unsigned number at the head of b and says how long it is;
// 0 where there is none or it does not fit.
func decimal(b []byte) (n uint64, end int) {
	for end < len(b) && b[end] >= '0' && b[end] <= '9' {
		if end == 19 {
			return 0, 0
		}
		n = n*10 + uint64(b[end]-'0')
		end++
	}
	return n, end
}

// UnescapeKmsg undoes the kernel's \xNN escapes and appends the text to dst.
// What is not a whole escape is kept as it stands.
func UnescapeKmsg(dst, text []byte) []byte {
	for {
		i := bytes.Index(text, []byte(`\x`))
		if i < 0 || i+4 > len(text) {
			return append(dst, text...)
		}
		hi, lo := hexDigit(text[i+2]), hexDigit(text[i+3])
		if hi < 0 || lo < 0 {
			dst = append(dst, text[:i+2]...)
			text = text[i+2:]
			continue
		}
		dst = append(dst, text[:i]...)
		dst = append(dst, byte(hi<<4|lo))
		text = text[i+4:]
	}
}

func hexDigit(c byte) int {
	switch {
	case c >= '0' && c <= '9':
		return int(c - '0')
	case c >= 'a' && c <= 'f':
		return int(c-'a') + 10
	case c >= 'A' && c <= 'F':
		return int(c-'A') + 10
	}
	return -1
}
