package xidparse

import "bytes"

// Gap says how many messages of the kernel are missing in front of this one, by
// the word of who carried them: journald's "Missed 12 kernel messages", which
// is no kernel message itself, and the console's "** 12 printk messages
// dropped **". It is 0 where nobody knows how many. A message of which only
// the length was kept is missing itself.
func (l Line) Gap() (missing uint64, ok bool) {
	if l.Dropped > 0 {
		return l.Dropped, true
	}
	text := l.Text
	if rest, ok := bytes.CutPrefix(text, []byte("systemd-journald[")); ok {
		_, text, _ = bytes.Cut(rest, []byte("]: "))
	}
	if n, rest, ok := cutDropped(text); ok {
		return n, len(rest) == 0
	}
	if rest, ok := bytes.CutPrefix(text, []byte("Missed ")); ok {
		n, end := decimal(rest)
		return n, end > 0 && string(rest[end:]) == " kernel messages"
	}
	if bytes.HasPrefix(text, []byte("/dev/kmsg buffer overrun, some messages lost")) {
		return 0, true
	}
	return 1, l.Kernel && isBlob(text)
}

// cutDropped removes the console's "** 12 printk messages dropped ** ". Old
// kernels print the next message on the same line.
func cutDropped(s []byte) (dropped uint64, rest []byte, ok bool) {
	const tail = " printk messages dropped **"
	rest, ok = bytes.CutPrefix(s, []byte("** "))
	if !ok {
		return 0, s, false
	}
	n, end := decimal(rest)
	rest, ok = bytes.CutPrefix(rest[end:], []byte(tail))
	if end == 0 || !ok {
		return 0, s, false
	}
	return n, trimLine(rest), true
}

// isBlob wants "[61B blob data]", which journalctl prints in place of a message
// that is no text.
func isBlob(s []byte) bool {
	size, ok := bytes.CutSuffix(s, []byte(" blob data]"))
	return ok && len(size) > 2 && size[0] == '[' && len(bytes.Trim(size[1:], "0123456789.KMGB")) == 0
}
