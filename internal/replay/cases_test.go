package replay

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite the expected timelines; commit them only if you understand them")

// TestCases replays testdata/cases/*.log, each a case from the field in the
// driver's own grammar, and compares the timeline with the .want beside it. A
// line "#! --topology NAME --driver VERSION" gives the options; other lines that
// begin with # say what the case is.
func TestCases(t *testing.T) {
	files, err := filepath.Glob("testdata/cases/*.log")
	if err != nil || len(files) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".log"), func(t *testing.T) {
			log, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			golden(t, strings.TrimSuffix(file, ".log")+".want", []byte(timeline(t, log)))
		})
	}
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

func golden(t *testing.T, path string, got []byte) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s differs (-want +got):\n%s", path, diff)
	}
}
