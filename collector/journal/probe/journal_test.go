package probe

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// remote is systemd-journal-remote, which makes journals from text.
const remote = "/lib/systemd/systemd-journal-remote"

const (
	thisBoot    = "127cd183-c138-4ca1-a9a0-fe7b11b2e144"
	otherBoot   = "00000000-1111-4222-8333-444444444444"
	thisMachine = "3d1219c7c4c5404aaa1f6d2a48adfda4"
)

// fields is one entry for a journal.
type fields map[string]string

// record is a record of the kernel in this boot.
func record(micros uint64, text string) fields {
	return fields{"_TRANSPORT": "kernel", "SYSLOG_FACILITY": "0", "SYSLOG_IDENTIFIER": "kernel", "PRIORITY": "4",
		"_SOURCE_MONOTONIC_TIMESTAMP": fmt.Sprint(micros), "MESSAGE": text}
}

func (f fields) with(more fields) fields {
	f = maps.Clone(f)
	maps.Copy(f, more)
	return f
}

// export writes entries in the journal export format, a millisecond apart.
func export(entries []fields) []byte {
	var b bytes.Buffer
	for i, f := range entries {
		at := uint64(1_700_000_000_000_000 + 1000*i)
		f = fields{"_BOOT_ID": journalBoot(thisBoot), "_MACHINE_ID": thisMachine, "__REALTIME_TIMESTAMP": fmt.Sprint(at),
			"__MONOTONIC_TIMESTAMP": fmt.Sprint(at - 1_699_999_000_000_000)}.with(f)
		for _, name := range slices.Sorted(maps.Keys(f)) {
			if value := f[name]; strings.ContainsAny(value, "\n\x00") || !utf8.ValidString(value) {
				fmt.Fprintf(&b, "%s\n", name)
				_ = binary.Write(&b, binary.LittleEndian, uint64(len(value)))
				fmt.Fprintf(&b, "%s\n", value)
			} else {
				fmt.Fprintf(&b, "%s=%s\n", name, value)
			}
		}
		b.WriteByte('\n')
	}
	return b.Bytes()
}

// write makes a journal at path of entries, behind those that it has.
func write(t testing.TB, path string, entries ...fields) {
	t.Helper()
	if _, err := os.Stat(remote); err != nil {
		t.Skip("systemd-journal-remote is not installed (Debian: apt-get install systemd-journal-remote)")
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(remote, "-o", path, "-")
	cmd.Stdin = bytes.NewReader(export(entries))
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("systemd-journal-remote: %v\n%s", err, out)
	}
}

// place is a directory of journals, of a machine id that is not this machine's.
func directory(t testing.TB, entries ...fields) (root, file string) {
	t.Helper()
	root = t.TempDir()
	file = filepath.Join(root, thisMachine, "system.journal")
	write(t, file, entries...)
	return root, file
}
