package replay

import (
	"bytes"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/gpuhealthd/gpuhealthd/test/golden"

	"github.com/gpuhealthd/gpuhealthd/xidparse"
)

func TestJSON(t *testing.T) {
	log, err := os.ReadFile("testdata/mixed.log")
	if err != nil {
		t.Fatal(err)
	}
	golden.Check(t, "testdata/mixed.json", string(objects(t, log)))
}

// objects replays a log as JSON.
func objects(t testing.TB, log []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := New(NewJSON(&out), optionsOf(t, log)).Run([]Source{{In: bytes.NewReader(log)}}); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

const document = "../../docs/replay.md"

// blocks gives the fenced blocks of one language in the document.
func blocks(t *testing.T, language string) (found []string) {
	t.Helper()
	text, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	parts := strings.Split(string(text), "```"+language+"\n")
	if len(parts) < 2 {
		t.Fatalf("%s has no %s", document, language)
	}
	for _, part := range parts[1:] {
		block, _, _ := strings.Cut(part, "```")
		found = append(found, block)
	}
	return found
}

// The document's examples are what replay prints of testdata/mixed.log, and its
// tables name every field of theirs.
func TestDocumentedJSON(t *testing.T) {
	text, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	printed := strings.Split(string(mixedObjects(t)), "\n")
	shown := 0
	for _, block := range blocks(t, "json") {
		for line := range strings.Lines(block) {
			shown++
			if !slices.Contains(printed, strings.TrimSuffix(line, "\n")) {
				t.Errorf("replay does not print %s", line)
			}
			for field := range decode(t, line) {
				if !strings.Contains(string(text), "| `"+field+"` |") {
					t.Errorf("the field %s is not documented", field)
				}
			}
		}
	}
	if shown < 6 {
		t.Errorf("only %d examples", shown)
	}
}

func mixedObjects(t *testing.T) []byte {
	t.Helper()
	log, err := os.ReadFile("testdata/mixed.log")
	if err != nil {
		t.Fatal(err)
	}
	return objects(t, log)
}

// eventLine is an event as the document has it.
type eventLine struct {
	Type            string  `json:"type"`
	File            string  `json:"file,omitempty"`
	Line            int     `json:"line"`
	Time            *string `json:"time"`
	Kind            string  `json:"kind"`
	XID             *int    `json:"xid"`
	PCI             *string `json:"pci"`
	GPUInstance     *int    `json:"gpu_instance"`
	ComputeInstance *int    `json:"compute_instance"`
	PID             *int    `json:"pid"`
	Process         string  `json:"process"`
	Link            *int    `json:"link"`
	CausedBy        *int    `json:"caused_by"`
	Missing         uint64  `json:"missing,omitempty"`
	Message         string  `json:"message"`
}

// An event is JSON, whatever bytes a log holds, and nothing of it is lost.
func FuzzEvent(f *testing.F) {
	f.Add("python3", "Ch 00000010", 12)
	f.Add("a\"b\\c", "\x00\xff<&>é\u2028", -1)
	f.Fuzz(func(t *testing.T, process, message string, link int) {
		finding := Finding{Line: 1, Event: xidparse.Event{Kind: xidparse.KindXID, Code: 79, Process: process, Message: message, Link: link}}
		var got eventLine
		if err := json.Unmarshal(appendEvent(nil, finding), &got); err != nil {
			t.Fatal(err)
		}
		if utf8.ValidString(process) && utf8.ValidString(message) && (got.Process != process || got.Message != message) {
			t.Errorf("%q %q became %q %q", process, message, got.Process, got.Message)
		}
	})
}

// decode reads a line strictly as what its type says, and gives its fields.
func decode(t *testing.T, line string) (fields map[string]any) {
	t.Helper()
	if err := json.Unmarshal([]byte(line), &fields); err != nil {
		t.Fatalf("%s: %v", line, err)
	}
	var into any = &VerdictLine{}
	if fields["type"] == "event" {
		into = &eventLine{}
	}
	dec := json.NewDecoder(strings.NewReader(line))
	dec.DisallowUnknownFields()
	if err := dec.Decode(into); err != nil {
		t.Errorf("%s: %v", line, err)
	}
	return fields
}

// Every topology in the document can be read.
func TestDocumentedTopology(t *testing.T) {
	for _, block := range blocks(t, "topology") {
		if _, err := ParseTopology("docs/replay.md", []byte(block)); err != nil {
			t.Error(err)
		}
	}
}

// Code 0 is a number that a line can have; an event without one has null.
func TestCodeZeroIsNotNull(t *testing.T) {
	for line, want := range map[string]string{
		"NVRM: Xid (PCI:0000:3b:00): 0, something":                            `"xid":0,`,
		"nvidia-nvswitch0: SXid (PCI:0000:05:00.0): 0, Non-fatal, Link 1 odd": `"xid":0,`,
		"NVRM: GPU 0000:3b:00.0: RmInitAdapter failed! (0x62:0x55:2477)":      `"xid":null,`,
	} {
		var out bytes.Buffer
		if err := New(NewJSON(&out), Options{}).Run([]Source{{In: strings.NewReader(line + "\n")}}); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(out.String(), want) {
			t.Errorf("%s: no %s in\n%s", line, want, &out)
		}
	}
}
