package xidparse

import "bytes"

// cutWriter removes "host kernel: " or "kernel: ". Where the format names the
// writer of every line, any other name is user space.
func cutWriter(s []byte, named bool) Line {
	if Ours(s) {
		return Line{Text: s, Kernel: true}
	}
	if line, ok := cutKernelTag(s); ok {
		return line
	}
	if text, ok := cutContainer(s); ok && named {
		return Line{Text: text, Tagged: true}
	}
	host, rest, ok := bytes.Cut(s, []byte(" "))
	if ok && !bytes.HasSuffix(host, []byte(":")) {
		if line, ok := cutKernelTag(rest); ok {
			return line
		}
	} else {
		rest = s
	}
	if !named {
		return cutProcess(s, rest)
	}
	// A name may hold blanks: "Web Content[123]: ".
	_, text, _ := bytes.Cut(rest, []byte(": "))
	return Line{Text: text, Tagged: true}
}

// cutContainer removes "stdout F " of a container's line, as Kubernetes keeps
// it (CRI): F is a whole line, P a part of one.
func cutContainer(s []byte) ([]byte, bool) {
	rest, ok := bytes.CutPrefix(s, []byte("std"))
	if !ok || len(rest) < len("out F ") || rest[3] != ' ' || rest[4] != 'F' && rest[4] != 'P' || rest[5] != ' ' {
		return s, false
	}
	stream := string(rest[:3])
	return rest[len("out F "):], stream == "out" || stream == "err"
}

// cutProcess knows "host app[7]: " behind a stamp in brackets, which dmesg and
// journalctl share: a process number is no kernel's. A line without one could
// be anybody's.
func cutProcess(s, behindHost []byte) Line {
	if word, text, ok := bytes.Cut(behindHost, []byte(" ")); ok && len(behindHost) < len(s) && hasPID(word) {
		return Line{Text: text, Tagged: true}
	}
	return Line{Text: s, Kernel: true}
}

// cutKernelTag removes "kernel: " and the uptime that syslog may keep behind it.
func cutKernelTag(s []byte) (Line, bool) {
	rest, ok := bytes.CutPrefix(s, []byte("kernel: "))
	if !ok {
		return Line{}, false
	}
	text, uptime := cutBrackets(trimLine(rest))
	return Line{Text: text, Kernel: true, Tagged: true, Stamp: uptime}, true
}

// cutBareWriter reads a line without a time: a message by itself, or behind
// "kernel: " or "agent[99]: ".
func cutBareWriter(s []byte) Line {
	if line, ok := cutKernelTag(s); ok {
		return line
	}
	if word, text, ok := bytes.Cut(s, []byte(" ")); ok && hasPID(word) {
		return Line{Text: text, Tagged: true}
	}
	return Line{Text: s, Kernel: true}
}

// hasPID wants "name[99]:".
func hasPID(word []byte) bool {
	word, ok := bytes.CutSuffix(word, []byte("]:"))
	if !ok {
		return false
	}
	open := bytes.LastIndexByte(word, '[')
	_, n := decimal(word[open+1:])
	return open > 0 && n > 0 && open+1+n == len(word)
}

// facilities are syslog's, by number.
var facilities = [...]string{
	"kern", "user", "mail", "daemon", "auth", "syslog", "lpr", "news", "uucp", "cron", "authpriv", "ftp",
}

var levels = [...]string{"emerg", "alert", "crit", "err", "warn", "notice", "info", "debug"}

// cutFacility removes "kern  :warn  : " of dmesg -x, and "host: kern:
// warning: " of Talos.
func cutFacility(s []byte) (rest []byte, facility int, ok bool) {
	if rest, facility, ok = cutFacilityLevel(s); ok {
		return rest, facility, true
	}
	host, after, ok := bytes.Cut(s, []byte(": "))
	if !ok || bytes.IndexByte(host, ' ') >= 0 {
		return s, 0, false
	}
	return cutFacilityLevel(after)
}

func cutFacilityLevel(s []byte) (rest []byte, facility int, ok bool) {
	word, rest, ok := bytes.Cut(s, []byte(":"))
	if !ok || len(word) > len("authpriv") {
		return s, 0, false
	}
	level, rest, ok := bytes.Cut(rest, []byte(":"))
	if !ok || !isLevel(bytes.TrimSpace(level)) {
		return s, 0, false
	}
	word = bytes.TrimRight(word, " ")
	for i, name := range facilities {
		if string(word) == name {
			return rest, i, true
		}
	}
	return s, 0, false
}

// isLevel takes both "warn" and "warning".
func isLevel(word []byte) bool {
	for _, name := range levels {
		if bytes.HasPrefix(word, []byte(name)) {
			return len(word) <= len("warning")
		}
	}
	return false
}
