package replay

import (
	"bytes"
	"strings"
	"testing"

	"github.com/gpuhealthd/gpuhealthd/xidparse/logfile"
)

// A line that is too long to be read whole is told.
func TestOverlongIsTold(t *testing.T) {
	var text bytes.Buffer
	log := `{"_TRANSPORT":"kernel","_CMDLINE":"` + strings.Repeat("x", 3*logfile.MaxLine) + `","MESSAGE":"NVRM: Xid (PCI:0000:3b:00): 79, gone"}`
	replayBytes(t, NewText(&text, Style{}), []byte(log))
	if !strings.Contains(text.String(), "1 line longer than 64 KiB") {
		t.Error(text.String())
	}
}

// A gap is told with how much it misses, and hides nothing on its own line.
func TestGapsAreTold(t *testing.T) {
	const xid = "[  100.0] NVRM: Xid (PCI:0000:3b:00): 79, gone"
	for log, want := range map[string]struct {
		text, json string
		heard      bool
	}{
		"** 7 printk messages dropped ** " + xid:                                                       {"7 messages are missing here", `"missing":7`, true},
		"** 1 printk messages dropped ** [ 1.5] usb 1-1: reset":                                        {"1 message is missing here", `"missing":1`, false},
		"May 19 07:08:57 n systemd-journald[3]: /dev/kmsg buffer overrun, some messages lost.\n" + xid: {"nobody knows how many", `"missing":null`, true},
		"May 19 07:08:57 n kernel: [61B blob data]":                                                    {"1 message is missing here", `"missing":1`, false},
	} {
		var text, json bytes.Buffer
		replayBytes(t, NewText(&text, Style{}), []byte(log))
		replayBytes(t, NewJSON(&json), []byte(log))
		if !strings.Contains(text.String(), want.text) || strings.Count(json.String(), want.json) != 1 ||
			strings.Contains(json.String(), `"xid":79`) != want.heard {
			t.Errorf("%q\n%s%s", log, &text, &json)
		}
	}
}
