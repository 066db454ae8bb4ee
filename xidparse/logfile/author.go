package logfile

import (
	"bytes"

	"github.com/gpuhealthd/gpuhealthd/xidparse"
)

// author knows who wrote an indented line: journalctl and dmesg print the
// second line of a message, and every one behind it, indented and without a
// prefix. They belong to whoever wrote the first, and that is anybody where
// the first does not say so: of such a one only the driver's are believed.
type author struct {
	begun bool
	// indent is that of the last message's first line, for a log that is
	// indented as a whole.
	indent int
	// kernel is whether the kernel is known to have written the message.
	kernel bool
}

// wrote says whether the kernel wrote a line, and remembers the author of one
// that begins a message. A blank line changes nothing.
func (a *author) wrote(raw []byte, line xidparse.Line) bool {
	if len(line.Text) == 0 && len(line.Stamp) == 0 {
		return line.Kernel
	}
	depth := indent(raw)
	if a.begun && depth > a.indent {
		return line.Kernel && a.kernel
	}
	a.begun, a.indent = true, depth
	a.kernel = line.Kernel && (line.Tagged || xidparse.Ours(line.Text))
	return line.Kernel
}

// indent counts the blanks in front of a line, and passes over a byte order
// mark, padding and terminal colours.
func indent(raw []byte) (n int) {
	raw = bytes.TrimPrefix(raw, []byte("\xef\xbb\xbf"))
	for len(raw) > 0 && raw[0] <= ' ' {
		switch raw[0] {
		case ' ', '\t':
			n++
		case '\x1b':
			_, rest, ok := bytes.Cut(raw, []byte("m"))
			if !ok {
				return n
			}
			raw = rest
			continue
		}
		raw = raw[1:]
	}
	return n
}
