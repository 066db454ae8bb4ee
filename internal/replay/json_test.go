package replay

import (
	"bytes"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"
)

func TestJSON(t *testing.T) {
	log, err := os.ReadFile("testdata/mixed.log")
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "testdata/mixed.json", objects(t, log))
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

// decode reads a line strictly as what its type says, and gives its fields.
func decode(t *testing.T, line string) (fields map[string]any) {
	t.Helper()
	if err := json.Unmarshal([]byte(line), &fields); err != nil {
		t.Fatalf("%s: %v", line, err)
	}
	var into any = &VerdictLine{}
	if fields["type"] == "event" {
		into = &EventLine{}
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
	for _, block := range blocks(t, "yaml") {
		if _, err := ParseTopology("docs/replay.md", []byte(block)); err != nil {
			t.Error(err)
		}
	}
}
