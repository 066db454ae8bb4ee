package replay

import (
	"strings"
	"testing"

	"github.com/gpuhealthd/gpuhealthd/xidparse"
)

// Nothing that a log or a file's name holds moves a terminal's cursor or turns
// its text around.
func TestPrintable(t *testing.T) {
	const hostile = "a\x1b[2J\r\n\u009b\u202e\u2066\u200b\ufeff\u2028é日"
	if got, want := Printable(hostile), "a [2J        é日"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	var out strings.Builder
	text := NewText(&out, Style{})
	err := text.Finding(Finding{File: hostile, Line: 1, Event: xidparse.Event{Kind: xidparse.KindXID, Message: hostile}})
	if err == nil {
		err = text.End(Outcome{})
	}
	if err != nil || strings.ContainsAny(out.String(), "\x1b\r\u009b\u202e") {
		t.Errorf("%v: %q", err, out.String())
	}
}
