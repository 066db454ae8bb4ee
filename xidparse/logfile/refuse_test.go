package logfile

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"
)

func gzipped(t *testing.T, text string) string {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := io.WriteString(w, text); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// wide writes text with so many zeros in front of and behind every letter.
func wide(text string, before, behind int) string {
	var b strings.Builder
	for _, c := range utf16.Encode([]rune(text)) {
		b.WriteString(strings.Repeat("\x00", before) + string(rune(c)) + strings.Repeat("\x00", behind))
	}
	return b.String()
}

// What is not read is refused by name, and never a log without a fault.
func TestRefuses(t *testing.T) {
	line := "[1.5] " + gone + "\n"
	for log, want := range map[string]string{
		"\xfd7zXZ\x00\x00\x04": "xz",
		"BZh91AY&SY":           "bzip2",
		"PK\x03\x04\x14\x00":   "zip",
		"a.log" + strings.Repeat("\x00", 252) + "ustar\x0000": "tar",
		"\xff\xfe" + wide(line, 0, 1):                         "UTF-16",
		"\xfe\xff" + wide(line, 1, 0):                         "UTF-16",
		wide(line, 0, 1):                                      "UTF-16LE",
		wide(line, 1, 0):                                      "UTF-16BE",
		"\xff\xfe\x00\x00" + wide(line, 0, 3):                 "UTF-32",
		wide(line, 0, 3):                                      "UTF-32LE",
		wide(line, 3, 0):                                      "UTF-32BE",
		"{\n   \"dmesg\": [\n      {\n":                       "dmesg -J",
		"{\r\n\t\"__CURSOR\" : \"s=1\",\n":                    "JSON over several lines",
		"# tracer: nop\n#\n":                                  "ftrace",
		gzipped(t, "BZh91AY&SY"):                              "bzip2",
		gzipped(t, gzipped(t, gzipped(t, line))):              "more than twice",
	} {
		if _, err := NewReader(strings.NewReader(log), Options{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.30q: %v, want it to name %s", log, err, want)
		}
	}
	for name, log := range map[string]string{
		"gzip in gzip":              gzipped(t, gzipped(t, line)),
		"two members":               gzipped(t, "[1.4] a\n") + gzipped(t, line),
		"a long member and another": gzipped(t, strings.Repeat("[1.4] a\n", 50_000)) + gzipped(t, line),
		"gzip and zeros":            gzipped(t, line) + strings.Repeat("\x00", 5000),
		"zeros in front":            strings.Repeat("\x00", 5000) + line,
		"zeros behind":              line + strings.Repeat("\x00", 5000),
		"journal, json-seq":         "\x1e" + `{"_TRANSPORT":"kernel","MESSAGE":"` + gone + `"}` + "\n",
		"journal, json-sse":         `data: {"_TRANSPORT":"kernel","MESSAGE":"` + gone + `"}` + "\n\n",
	} {
		if got := read(t, strings.NewReader(log), Options{}); !slices.ContainsFunc(got, func(m string) bool { return strings.HasSuffix(m, " kernel "+gone) }) {
			t.Errorf("%s: not heard in %q", name, got)
		}
	}
}

// What stands before a damage is read, and the damage is told.
func TestDamaged(t *testing.T) {
	r, err := NewReader(strings.NewReader(gzipped(t, "[1.5] "+gone+"\n")+"garbage"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if m, err := r.Read(); err != nil || string(m.Text) != gone {
		t.Errorf("got %q, %v", m.Text, err)
	}
	if _, err := r.Read(); err == nil || errors.Is(err, io.EOF) || !strings.Contains(err.Error(), "behind the end") {
		t.Errorf("garbage behind gzip: %v", err)
	}
}
