package logfile

import (
	"bytes"
	"fmt"
)

// sniffed is how much of a log's begin tells what it is: a tar's mark is at 257.
const sniffed = 512

// foreign are forms that are not read. A log of one would seem to have no
// messages, or none of a fault.
var foreign = []struct {
	at                  int
	magic, what, remedy string
}{
	{0, "\xfd7zXZ\x00", "compressed with xz", "unpack it with xz -dc"},
	{0, "BZh", "compressed with bzip2", "unpack it with bzip2 -dc"},
	{0, "\x04\x22\x4d\x18", "compressed with lz4", "unpack it with lz4 -dc"},
	{0, "7z\xbc\xaf\x27\x1c", "a 7z archive", "unpack it"},
	{0, "PK\x03\x04", "a zip archive", "unpack it with unzip -p"},
	{257, "ustar", "a tar archive", "unpack it with tar -xO"},
	{0, "LPKSHHRH", "a journal file", "read it with journalctl -o json --file"},
	{0, "\xff\xfe\x00\x00", "UTF-32", "convert it with iconv -f UTF-32 -t UTF-8"},
	{0, "\x00\x00\xfe\xff", "UTF-32", "convert it with iconv -f UTF-32 -t UTF-8"},
	{0, "\xff\xfe", "UTF-16", "convert it with iconv -f UTF-16 -t UTF-8"},
	{0, "\xfe\xff", "UTF-16", "convert it with iconv -f UTF-16 -t UTF-8"},
	{0, "# tracer:", "a trace of ftrace, not a kernel log", "save the log with dmesg or journalctl -k"},
}

// refuse names a log that is not read, by its first bytes.
func refuse(head []byte) error {
	for _, f := range foreign {
		if len(head) > f.at && bytes.HasPrefix(head[f.at:], []byte(f.magic)) {
			return refusal(f.what, f.remedy)
		}
	}
	if wide := wideText(head); wide != "" {
		return refusal(wide, "convert it with iconv -f "+wide+" -t UTF-8")
	}
	// JSON that is broken into lines: an entry of the journal's is one.
	text := bytes.TrimLeft(head, " \t\r\n")
	if open, rest, ok := bytes.Cut(text, []byte("\n")); ok && (string(bytes.TrimSpace(open)) == "{" || string(bytes.TrimSpace(open)) == "[") {
		if bytes.HasPrefix(bytes.TrimSpace(rest), []byte(`"dmesg"`)) {
			return refusal("dmesg -J", "save it with dmesg alone")
		}
		return refusal("JSON over several lines", "use journalctl -o json, or jq -c .")
	}
	return nil
}

func refusal(what, remedy string) error {
	return fmt.Errorf("%s, which is not read; %s", what, remedy)
}

// wideText knows text of two or four bytes a letter that has no byte order
// mark, by the zeros among its first letters.
func wideText(head []byte) string {
	if len(head) < 8 {
		return ""
	}
	pattern := 0
	for i, c := range head[:8] {
		if c != 0 {
			pattern |= 1 << i
		}
	}
	switch pattern {
	case 0b01010101:
		return "UTF-16LE"
	case 0b10101010:
		return "UTF-16BE"
	case 0b00010001:
		return "UTF-32LE"
	case 0b10001000:
		return "UTF-32BE"
	}
	return ""
}
