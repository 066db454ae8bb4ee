package xidparse

import "bytes"

// Line is a log line without its transport's prefix.
type Line struct {
	// Text is the message, unescaped; an embedded newline stays. It may alias
	// the input.
	Text []byte
	// Kernel is false where the prefix says that user space wrote the line.
	Kernel bool
	// Tagged is true where the prefix itself says who wrote the line, and not
	// only nothing against the kernel.
	Tagged bool
	// Facility is the syslog facility, 0 (the kernel's) where the prefix gives
	// none. User space that writes to /dev/kmsg has 1: whoever injects faults
	// on purpose may accept that.
	Facility int
	// Stamp is the time as the prefix wrote it, empty where it gave none. Where
	// it gave two, it is the kernel's own since boot. It may alias the input;
	// Time reads it.
	Stamp []byte
	// Dropped is how many messages are missing in front of the line, by the word
	// of the console on the same line; 0 is none, or none that it knows of.
	Dropped uint64
}

// stamped gives the line a time, where it has none of its own.
func (l Line) stamped(stamp []byte) Line {
	if len(l.Stamp) == 0 {
		l.Stamp = stamp
	}
	return l
}

// by gives the line the facility that its prefix names.
func (l Line) by(facility int) Line {
	l.Kernel = l.Kernel && facility == 0
	l.Tagged, l.Facility = true, facility
	return l
}

// Cut removes the prefix that a transport put in front of a kernel message. It
// knows raw /dev/kmsg records, dmesg in all its formats, journalctl's short
// formats and its JSON, syslog of RFC 3164 and RFC 5424, Talos, and captures
// of a console.
//
// A line that says who wrote it is the kernel's only if it says "kernel"; a
// line that says nothing is taken to be the kernel's. Nothing here proves
// either: a file can be written by anyone.
func Cut(line []byte) Line {
	s := trimLine(line)
	if Ours(s) || len(s) == 0 {
		return Line{Text: s, Kernel: true}
	}
	switch c := s[0]; {
	case c == '*':
		return cutBehindDropped(s)
	case c == '[':
		return cutStamped(s)
	case c == '{':
		return cutJournal(s)
	case c == 'd' && bytes.HasPrefix(s, []byte("data: {")): // journalctl -o json-sse
		return cutJournal(s[len("data: "):])
	case c == '<':
		return cutPriority(s)
	case isDigit(c):
		if rest := cutFraming(s); isKmsg(rest) {
			return cutRecord(rest)
		} else if rest[0] == '<' {
			return cutPriority(rest)
		}
	}
	if rest, facility, ok := cutFacility(s); ok {
		line := cutStamped(rest)
		return line.by(facility)
	}
	return cutStamped(s)
}

// cutBehindDropped reads a line that the console began with a gap.
func cutBehindDropped(s []byte) Line {
	n, rest, ok := cutDropped(s)
	if !ok || len(rest) == 0 || rest[0] == '*' {
		return cutStamped(s)
	}
	line := Cut(rest)
	line.Dropped = n
	return line
}

// trimLine drops line ends, blanks, a byte order mark and the colours that
// dmesg writes to a terminal.
func trimLine(s []byte) []byte {
	s = bytes.TrimPrefix(s, []byte("\xef\xbb\xbf"))
	for len(s) > 0 && s[len(s)-1] <= ' ' {
		s = s[:len(s)-1]
	}
	for len(s) > 0 && s[0] <= ' ' {
		if s[0] == '\x1b' {
			return trimColour(s)
		}
		s = s[1:]
	}
	return s
}

// trimColour removes the colours of a line and the blanks around it.
func trimColour(s []byte) []byte { return bytes.TrimSpace(Plain(s)) }

// Plain removes every terminal sequence "ESC [ … m" from a line, which it
// copies if there is one.
func Plain(s []byte) []byte {
	if bytes.IndexByte(s, '\x1b') < 0 {
		return s
	}
	plain := make([]byte, 0, len(s))
	for len(s) > 0 {
		i := bytes.Index(s, []byte("\x1b["))
		if i < 0 {
			break
		}
		plain = append(plain, s[:i]...)
		s = bytes.TrimLeft(s[i+2:], "0123456789;")
		s = bytes.TrimPrefix(s, []byte("m"))
	}
	return append(plain, s...)
}

// isKmsg wants "4,1227,": a number, a comma, a number, a comma.
func isKmsg(s []byte) bool {
	_, n := decimal(s)
	if n == 0 || n >= len(s) || s[n] != ',' {
		return false
	}
	s = s[n+1:]
	_, n = decimal(s)
	return n > 0 && n < len(s) && s[n] == ','
}

// cutFraming removes what the network puts in front of a message: netconsole the
// kernel's release, "6.1.0-13-amd64,", syslog over TCP the length, "97 ".
func cutFraming(s []byte) []byte {
	_, n := decimal(s)
	if n > 0 && n+1 < len(s) && s[n] == ' ' && s[n+1] == '<' {
		return s[n+1:]
	}
	if n == 0 || n == len(s) || s[n] != '.' {
		return s
	}
	release, rest, ok := bytes.Cut(s, []byte(","))
	if ok && bytes.IndexByte(release, ' ') < 0 && isKmsg(rest) {
		return rest
	}
	return s
}

func cutRecord(s []byte) Line {
	k, err := CutKmsg(s)
	if err != nil {
		return Line{Text: s}
	}
	text := k.Text
	if bytes.Contains(text, []byte(`\x`)) {
		text = UnescapeKmsg(nil, text)
	}
	return Line{Text: text, Kernel: true, Stamp: recordMicros(s)}.by(k.Facility())
}

// recordMicros gives the third field of a record's head, which CutKmsg has read.
func recordMicros(s []byte) []byte {
	for range 2 {
		s = s[bytes.IndexByte(s, ',')+1:]
	}
	_, n := decimal(s)
	return s[:n]
}

// cutPriority reads "<4>", which dmesg -r and syslog share, and the version
// that tells RFC 5424 from RFC 3164.
func cutPriority(s []byte) Line {
	priority, n := decimal(s[1:])
	if n == 0 || n > 3 || n+1 >= len(s) || s[n+1] != '>' {
		return Line{Text: s, Kernel: true}
	}
	facility := int(priority >> 3)
	s = s[n+2:]
	var line Line
	if rest, ok := bytes.CutPrefix(s, []byte("1 ")); ok {
		line = cutSyslog5424(rest)
	} else {
		line = cutStamped(s)
	}
	return line.by(facility)
}

// cutSyslog5424 reads "time host app proc msgid data message".
func cutSyslog5424(s []byte) Line {
	var stamp, app []byte
	for i := range 5 {
		var field []byte
		var ok bool
		if field, s, ok = bytes.Cut(s, []byte(" ")); !ok {
			return Line{Text: s}
		}
		switch i {
		case 0:
			stamp = field
		case 2:
			app = field
		}
	}
	data := bytes.HasPrefix(s, []byte("["))
	if end := bytes.Index(s, []byte("] ")); data && end >= 0 {
		s = s[end+2:]
	} else {
		s = bytes.TrimPrefix(s, []byte("- "))
	}
	text, uptime := cutBrackets(trimLine(s))
	return Line{Text: text, Kernel: string(bytes.TrimSuffix(app, []byte(":"))) == "kernel", Tagged: true, Stamp: uptime}.stamped(stamp)
}
