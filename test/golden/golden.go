// Package golden compares what a test has made with a file that people review,
// and rewrites the file under -update.
package golden

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite the golden files; commit them only if you understand the difference")

// Update says whether the files are to be rewritten.
func Update() bool { return *update }

// Check compares got with the file at path.
func Check(t testing.TB, path, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s differs (-want +got):\n%s", path, diff)
	}
}

// Each plays every file that pattern names, and checks what comes of it against
// the file with the ending .want beside it. No file at all is a failure.
func Each(t *testing.T, pattern string, play func(t *testing.T, in []byte) string) {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		t.Fatalf("%s: no file: %v", pattern, err)
	}
	for _, file := range files {
		base := strings.TrimSuffix(file, filepath.Ext(file))
		t.Run(filepath.Base(base), func(t *testing.T) {
			in, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			Check(t, base+".want", play(t, in))
		})
	}
}
