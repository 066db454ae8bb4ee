package xidparse

import (
	"bytes"
	"strconv"
)

// CutKata finds the line of a guest's console in a message of the Kata shim,
// `… msg="reading guest console" … vmconsole="[ 5.4] NVRM: …"`. A guest can
// print anything on its console, and its PCI addresses are its own: read such
// lines only where an operator has asked for it.
func CutKata(message []byte) (Line, bool) {
	const field = "vmconsole="
	i := bytes.LastIndex(message, []byte(" "+field))
	if i < 0 || !bytes.Contains(message[:i], []byte("reading guest console")) {
		return Line{}, false
	}
	value := string(message[i+1+len(field):])
	quoted, err := strconv.QuotedPrefix(value)
	if err != nil {
		return Line{}, false
	}
	console, err := strconv.Unquote(quoted)
	if err != nil {
		return Line{}, false
	}
	return Cut([]byte(console)), true
}
