package replay

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gpuhealthd/gpuhealthd/xidparse/logfile"
)

// No log, however damaged, ends a replay or moves the cursor of a terminal.
func FuzzReplay(f *testing.F) {
	files, err := filepath.Glob("testdata/cases/*.log")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range append(files, "testdata/mixed.log") {
		log, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(log)
	}
	f.Fuzz(func(t *testing.T, log []byte) {
		if compressed(log) {
			return // logfile's own targets
		}
		if _, err := logfile.NewReader(bytes.NewReader(log), logfile.Options{}); err != nil {
			return // refused by its first bytes, in words: logfile's own tests
		}
		var text bytes.Buffer
		if err := New(NewText(&text, Style{}), Options{}).Run([]Source{{In: bytes.NewReader(log)}}); err != nil {
			t.Fatal(err)
		}
		if strings.ContainsAny(text.String(), "\x00\x07\x1b\r\u009b") {
			t.Errorf("the text holds control characters: %q", text.String())
		}
		if err := New(NewJSON(io.Discard), Options{}).Run([]Source{{In: bytes.NewReader(log)}}); err != nil {
			t.Fatal(err)
		}
	})
}

func compressed(log []byte) bool {
	return bytes.HasPrefix(log, []byte{0x1f, 0x8b}) || bytes.HasPrefix(log, []byte{0x28, 0xb5, 0x2f, 0xfd})
}
