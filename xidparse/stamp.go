package xidparse

import "bytes"

// cutStamped reads a line that begins with a time, or with nothing.
func cutStamped(s []byte) Line {
	s = trimLine(s)
	if rest, stamp := cutBrackets(s); len(rest) < len(s) {
		return cutWriter(rest, false).stamped(stamp)
	}
	if rest, dmesg, ok := cutTime(s); ok {
		stamp := s[:len(s)-len(rest)]
		text, uptime := cutBrackets(rest)
		return cutWriter(text, !dmesg).stamped(uptime).stamped(stamp)
	}
	return cutBareWriter(s)
}

// cutBrackets removes every "[…]" at the head that is a time or a caller:
// "[ 130.456250] [ T1946] ", "[Sun Feb 23 16:24:18 2025] ", "[...] ". The
// first of them is the time.
func cutBrackets(s []byte) (rest, stamp []byte) {
	const widest = 48
	for len(s) > 0 && s[0] == '[' {
		end := bytes.IndexByte(s[:min(len(s), widest)], ']')
		if end < 0 || !isStamp(s[1:end]) {
			return s, stamp
		}
		if stamp == nil {
			stamp = s[1:end]
		}
		s = trimLine(bytes.TrimPrefix(s[end+1:], []byte(":"))) // Talos adds a colon
	}
	return s, stamp
}

// isStamp knows an uptime, a difference, a caller, and everything with a clock
// in it, in any language.
func isStamp(s []byte) bool {
	for len(s) > 0 && s[0] == ' ' {
		s = s[1:]
	}
	if len(s) == 0 {
		return false
	}
	if s[0] == 'T' || s[0] == 'C' {
		if _, n := decimal(s[1:]); n > 0 && n == len(s)-1 {
			return true
		}
	}
	return isUptime(s) || clock(s) >= 0
}

// isUptime takes "14.650646", "+0.000015", "14.65 <    0.04>" and "...".
func isUptime(s []byte) bool {
	for _, c := range s {
		if !isDigit(c) && c != '.' && c != ' ' && c != '+' && c != '-' && c != '<' && c != '>' {
			return false
		}
	}
	return true
}

// clock finds "15:36" with no digit in front, and is negative where there is
// none. A PCI address has digits in front.
func clock(s []byte) int {
	for i := 0; i+5 <= len(s); i++ {
		if s[i+2] == ':' && isDigit(s[i]) && isDigit(s[i+1]) && isDigit(s[i+3]) && isDigit(s[i+4]) &&
			(i == 0 || !isDigit(s[i-1])) {
			return i
		}
	}
	return -1
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// cutTime removes a date and a clock with seconds: "May  6 00:38:27 ",
// "11月 15 14:15:47 ", "2026-10-09T10:15:22+0200 ", "Fri 2024-08-30 11:43:14
// UTC ". The words of the date may be of any language. A comma before the
// fraction is dmesg's way to write ISO 8601, and only dmesg's.
func cutTime(s []byte) (rest []byte, dmesg, ok bool) {
	const words, widest = 4, 40
	var word, last []byte
	rest = s
	for i := range words {
		word, rest, ok = bytes.Cut(rest, []byte(" "))
		if !ok || len(word) > widest || len(word) > 0 && word[len(word)-1] == ':' {
			return s, false, false
		}
		if i == 0 && isUnixTime(word) {
			return rest, false, true
		}
		if at := clock(word); at >= 0 && at+5 < len(word) && word[at+5] == ':' {
			return cutZone(rest, i == 2 && isISODate(last)), bytes.IndexByte(word, ',') >= 0, true
		}
		last, rest = word, bytes.TrimLeft(rest, " ")
	}
	return s, false, false
}

// isUnixTime wants the ten digits of seconds since 2001 and a fraction, as
// journalctl's short-unix prints them.
func isUnixTime(word []byte) bool {
	_, n := decimal(word)
	return n == 10 && len(word) > n && word[n] == '.'
}

// cutZone removes a zone that is a word of its own, "UTC " or "+0200 ". Behind
// a weekday and a date journalctl always prints one. Elsewhere a word in
// capitals can as well be the host, and is that where the writer follows.
func cutZone(s []byte, always bool) []byte {
	word, rest, ok := bytes.Cut(s, []byte(" "))
	if !ok || len(word) < 3 || len(word) > 6 {
		return s
	}
	if word[0] == '+' || word[0] == '-' {
		return rest
	}
	if len(bytes.Trim(word, "ABCDEFGHIJKLMNOPQRSTUVWXYZ")) > 0 {
		return s
	}
	if next, _, _ := bytes.Cut(rest, []byte(" ")); always || Ours(rest) || !bytes.HasSuffix(next, []byte(":")) {
		return rest
	}
	return s
}

// isISODate wants "2024-08-30".
func isISODate(word []byte) bool {
	return len(word) == len("2024-08-30") && word[4] == '-' && word[7] == '-' && four(word) > 0
}
