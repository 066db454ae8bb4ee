package logfile

import "bytes"

// beginsVerbose wants the first line of an entry of `journalctl -o verbose`,
// "Mon 2026-11-30 00:53:20.010000 UTC [s=…;i=…]", and nothing else on it: its
// fields follow, a line each, "    NAME=value".
func beginsVerbose(line []byte) bool {
	line = plainLine(line)
	if !bytes.HasSuffix(line, []byte("]")) || line[0] == ' ' {
		return false
	}
	words := bytes.Fields(line)
	return len(words) == 5 && len(words[1]) == len("2026-11-30") && words[1][4] == '-' && words[1][7] == '-' &&
		len(words[2]) >= len("00:53:20") && words[2][2] == ':' && words[2][5] == ':' &&
		bytes.HasPrefix(words[4], []byte("[s=")) && bytes.HasSuffix(words[4], []byte("]"))
}

// verboseIndent is how far a field's name is indented; the further lines of a
// value are indented further, to stand below its first.
const verboseIndent = 4

// readVerbose reads the fields behind an entry's first line, up to the first
// line that is not indented.
func (e *entry) readVerbose(in *lines) {
	e.clear()
	var to *[]byte
	for {
		raw, err := in.next()
		if err != nil {
			return
		}
		line := plainLine(raw)
		depth := indent(line)
		if depth == 0 && len(line) > 0 {
			in.unread()
			return
		}
		name, value, ok := bytes.Cut(line[depth:], []byte("="))
		switch begins := depth == verboseIndent && ok && isFieldName(name); {
		case begins:
			if to = e.field(name); to != nil && len(*to) > 0 {
				to = nil // of several values the first
			}
			if to != nil {
				*to = append(*to, value...)
			}
		case to != nil && len(*to)+len(line) < MaxLine:
			*to = append(append(*to, '\n'), line[depth:]...)
		}
	}
}
