package xidparse

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"testing"
	"unicode/utf8"
)

// seeds gives the inputs of a golden file, and the corpus where it stands.
func seeds(f *testing.F, path string) [][]byte {
	var all [][]byte
	for _, s := range readGolden(f, path) {
		all = append(all, UnescapeKmsg(nil, []byte(s.input)))
	}
	if _, err := os.Stat(corpusPath); !errors.Is(err, fs.ErrNotExist) {
		for _, row := range corpus(f) {
			all = append(all, []byte(row[5]))
		}
	}
	return all
}

func FuzzParse(f *testing.F) {
	for _, text := range seeds(f, "testdata/messages.txt") {
		f.Add(string(text))
	}
	f.Fuzz(func(t *testing.T, text string) {
		e, ok := Parse(text)
		if !ok {
			if e != (Event{}) {
				t.Errorf("no event, but %+v", e)
			}
			return
		}
		if !Ours([]byte(text)) {
			t.Error("Ours hides an event")
		}
		if e.Kind == KindNone || e.Code < 0 || e.PID < 0 || e.Link < -1 && e.Link != Absent {
			t.Errorf("half an event: %+v", e)
		}
		for _, part := range []string{e.Process, e.Message, e.UUID, e.Place()} {
			if !strings.Contains(text, part) {
				t.Errorf("%q is not of the input", part)
			}
		}
		if n, ok := e.NVLink5(); ok && !strings.Contains(text, n.Unit) {
			t.Errorf("unit %q is not of the input", n.Unit)
		}
	})
}

// A process may be called anything: its name changes nothing else.
func FuzzHostileName(f *testing.F) {
	messages := []string{
		"31, pid=5, name=?, Ch 00000010, intr 10000000. MMU Fault: ENGINE GRAPHICS GPC2 GPCCLIENT_T1_7 faulted",
		"13, pid=5, name=?, Graphics Exception: ESR 0x50df30=0x107000e",
		"45, pid=5, name=?, Ch 00000003 caused by previous Xid 145",
		"48, pid=5, name=?, channel 0x00000002",
		"74, pid=5, name=?, NVLink: fatal error detected on link 2(0x1, 0x2, 0x3, 0x4, 0x5, 0x6, 0x7)",
		"74, pid=5, name=?, NVLink: fatal error detected on link 2",
		"94, pid=5, name=?, Ch 00000008",
		"95, pid=5, name=?, Uncontained: LTC TAG (0x2, 0x1). RST: Yes, D-RST: No",
		"149, pid=5, name=?, NETIR Fatal XC0 i0 Link -1 (0x000fe406 0x0)",
		"154, pid=5, name=?, GPU recovery action changed from 0x0 (None) to 0x4 (Drain and Reset)",
	}
	for _, name := range []string{"python3", "a), (PCI:0000:9", "): 79, x", "a, RST: Yes", "a, (0x1)", "a, ontained: ", "a, MMU Fault: ",
		"a, link 5(0x1", "a, Link 3 (0x", "a, (GPC , SM ", "a,, , Fatal", "'", "''", "<unknown>", ", ", "pid=7, name=b"} {
		for i := range messages {
			f.Add(i, name)
		}
	}
	f.Fuzz(func(t *testing.T, i int, name string) {
		if i < 0 || i >= len(messages) {
			return
		}
		name = name[:min(len(name), 15)] // the kernel's comm
		read := func(name string) string {
			e, ok := Parse("NVRM: Xid (PCI:0000:3b:00): " + strings.Replace(messages[i], "?", name, 1))
			if !ok {
				t.Fatalf("the name %q hides the event", name)
			}
			// What is read from the message stays; the message itself may begin
			// with the end of the name.
			described := describe(e)
			described = strings.Replace(described, fmt.Sprintf(" process=%q", e.Process), "", 1)
			return described[:strings.Index(described, "| ")]
		}
		if got, want := read(name), read("a"); got != want {
			t.Errorf("the name %q makes\n     %s\nfrom %s", name, got, want)
		}
	})
}

func FuzzCut(f *testing.F) {
	for _, line := range seeds(f, "testdata/lines.txt") {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		got := Cut(line)
		// JSON may hold bytes that become the three of U+FFFD.
		if len(got.Text) > 3*len(line) {
			t.Errorf("%d bytes from %d", len(got.Text), len(line))
		}
		again := Cut(append(bytes.Clone(line), "\r\n"...))
		if !bytes.Equal(again.Text, got.Text) || again.Kernel != got.Kernel || again.Facility != got.Facility {
			t.Errorf("a line end changes %q to %q", got.Text, again.Text)
		}
		if when := got.Time(); when.Clock == ClockNone && when != (Time{}) {
			t.Errorf("no time, but %+v", when)
		}
		CutKata(got.Text)
	})
}

// The journal's two spellings of a message are the same message.
func FuzzJournal(f *testing.F) {
	for _, text := range seeds(f, "testdata/messages.txt") {
		f.Add(text, "kernel", "0")
	}
	f.Add([]byte("\xff"), "kernel", "")
	f.Add([]byte("a"), "syslog", "1")
	f.Fuzz(func(t *testing.T, message []byte, transport, facility string) {
		if !utf8.ValidString(transport) || !utf8.ValidString(facility) {
			return
		}
		numbers := make([]int, len(message)) // []byte would become base64
		for i, c := range message {
			numbers[i] = int(c)
		}
		fields := map[string]any{"MESSAGE": numbers, "_TRANSPORT": transport, "SYSLOG_FACILITY": facility, "PRIORITY": nil}
		asBytes := cutEncoded(t, fields)
		want := JournalLine(message, transport, facility)
		if !bytes.Equal(asBytes.Text, want.Text) || asBytes.Kernel != want.Kernel {
			t.Errorf("array: %q %t, want %q %t", asBytes.Text, asBytes.Kernel, want.Text, want.Kernel)
		}
		if asBytes.Kernel && transport != "kernel" {
			t.Errorf("transport %q is taken for the kernel's", transport)
		}
		if !utf8.Valid(message) {
			return
		}
		fields["MESSAGE"] = string(message)
		if asText := cutEncoded(t, fields); !bytes.Equal(asText.Text, want.Text) {
			t.Errorf("string: %q, want %q", asText.Text, want.Text)
		}
	})
}

func cutEncoded(t *testing.T, fields map[string]any) Line {
	t.Helper()
	entry, err := json.Marshal(fields)
	if err != nil {
		t.Fatal(err)
	}
	return Cut(entry)
}
