package replay

import (
	"bytes"
	"strings"
	"testing"

	"github.com/gpuhealthd/gpuhealthd/test/golden"
)

// TestCases replays testdata/cases/*.log, each a case from the field in the
// driver's own grammar, and compares the timeline with the .want beside it. A
// line "#! --topology NAME --driver VERSION" gives the options; other lines that
// begin with # say what the case is.
func TestCases(t *testing.T) {
	golden.Each(t, "testdata/cases/*.log", func(t *testing.T, log []byte) string { return timeline(t, log) })
}

// timeline replays a log as text, with the options that it names.
func timeline(t testing.TB, log []byte) string {
	t.Helper()
	var out bytes.Buffer
	if err := New(NewText(&out, Style{}), optionsOf(t, log)).Run([]Source{{In: bytes.NewReader(log)}}); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func optionsOf(t testing.TB, log []byte) (opts Options) {
	t.Helper()
	for line := range strings.Lines(string(log)) {
		words, ok := strings.CutPrefix(line, "#! ")
		if !ok {
			continue
		}
		fields := strings.Fields(words)
		for i := 0; i+1 < len(fields); i += 2 {
			switch fields[i] {
			case "--topology":
				topology, err := LoadTopology(fields[i+1])
				if err != nil {
					t.Fatal(err)
				}
				opts.Topology = &topology
			case "--driver":
				opts.Driver = fields[i+1]
			default:
				t.Fatalf("no such option: %s", fields[i])
			}
		}
	}
	return opts
}
