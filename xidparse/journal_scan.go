package xidparse

import (
	"encoding/binary"
	"encoding/json"
	"unicode/utf8"
)

// scan reads an entry as journalctl mostly prints one, strings only, in a tenth
// of the time that encoding/json takes. It is false for everything else, valid
// or not: whoever asks then reads it with encoding/json.
func (e *journalEntry) scan(s []byte) bool {
	if len(s) == 0 || s[0] != '{' {
		return false
	}
	s = skipBlanks(s[1:])
	for {
		key, escaped, rest, ok := scanString(s)
		if !ok || escaped {
			return false
		}
		rest = skipBlanks(rest)
		if len(rest) == 0 || rest[0] != ':' {
			return false
		}
		value, escaped, rest, ok := scanString(skipBlanks(rest[1:]))
		if !ok || !e.set(key, value, escaped) {
			return false
		}
		rest = skipBlanks(rest)
		if len(rest) == 0 || rest[0] != ',' {
			return string(rest) == "}"
		}
		s = skipBlanks(rest[1:])
	}
}

// set keeps a field that decides. It is false for one that is there twice, and
// for text that encoding/json would change.
func (e *journalEntry) set(key, value []byte, escaped bool) bool {
	to := e.field(string(key))
	if to == nil {
		return true
	}
	if *to != nil || !utf8.Valid(value) {
		return false
	}
	if !escaped {
		*to = value
		return true
	}
	*to = journalText(quoted(value))
	return *to != nil
}

// quoted gives the value of a string with the quotes that stand around it.
func quoted(value []byte) json.RawMessage {
	return append(append(json.RawMessage{'"'}, value...), '"')
}

// scanString reads a string at the head of s, and gives what is between its
// quotes, whether there are escapes in it, and what stands behind it.
func scanString(s []byte) (value []byte, escaped bool, rest []byte, ok bool) {
	if len(s) == 0 || s[0] != '"' {
		return nil, false, s, false
	}
	for i := 1; ; {
		i += plainLen(s[i:])
		if i < len(s) && s[i] == '"' {
			return s[1:i:i], escaped, s[i+1:], true
		}
		n := escapeLen(s[i:])
		if n == 0 {
			return nil, false, s, false
		}
		i, escaped = i+n, true
	}
}

// plainLen says how many bytes at the head of s are neither a quote nor a
// backslash nor a control, which a string must not hold. It looks at eight
// bytes at once: for each of them, the highest bit tells whether it is one.
func plainLen(s []byte) (n int) {
	const ones, high = 0x0101010101010101, 0x8080808080808080
	for ; n+8 <= len(s); n += 8 {
		x := binary.LittleEndian.Uint64(s[n:])
		quote, slash := x^'"'*ones, x^'\\'*ones
		if ((x-' '*ones)&^x|(quote-ones)&^quote|(slash-ones)&^slash)&high != 0 {
			break
		}
	}
	for n < len(s) && s[n] >= ' ' && s[n] != '"' && s[n] != '\\' {
		n++
	}
	return n
}

// escapeLen says how long the escape at the head of s is, 0 for none.
func escapeLen(s []byte) int {
	if len(s) < 2 || s[0] != '\\' {
		return 0
	}
	switch s[1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return 2
	case 'u':
		if len(s) >= 6 && hexDigit(s[2]) >= 0 && hexDigit(s[3]) >= 0 && hexDigit(s[4]) >= 0 && hexDigit(s[5]) >= 0 {
			return 6
		}
	}
	return 0
}

func skipBlanks(s []byte) []byte {
	for len(s) > 0 && (s[0] == ' ' || s[0] == '\t' || s[0] == '\n' || s[0] == '\r') {
		s = s[1:]
	}
	return s
}
