package xidparse

import "bytes"

// Gap says how many messages of the kernel are missing in front of this one, by
// the word of who carried them: journald's "Missed 12 kernel messages", which
// is no kernel message itself, and the console's "** 12 printk messages
// dropped **".
func (l Line) Gap() (missing uint64, ok bool) {
	text := l.Text
	if rest, ok := bytes.CutPrefix(text, []byte("systemd-journald[")); ok {
		_, text, _ = bytes.Cut(rest, []byte("]: "))
	}
	for _, form := range [...]struct{ head, tail string }{
		{"Missed ", " kernel messages"},
		{"** ", " printk messages dropped **"},
	} {
		rest, ok := bytes.CutPrefix(text, []byte(form.head))
		if !ok {
			continue
		}
		if n, end := decimal(rest); end > 0 && string(bytes.TrimRight(rest[end:], " ")) == form.tail {
			return n, true
		}
	}
	return 0, false
}
