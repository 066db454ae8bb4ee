package test

import (
	"bytes"
	"os"
	"testing"
)

// maxLines is the longest that a file may be, tests apart.
const maxLines = 600

func TestEveryPackageSaysItsContract(t *testing.T) {
	for _, p := range packages(t) {
		if p.Doc == "" {
			t.Errorf("%s has no package comment", p.folder())
		}
	}
}

func TestNoFileIsTooLong(t *testing.T) {
	for _, p := range packages(t) {
		for _, path := range p.files() {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if lines := bytes.Count(text, []byte("\n")); lines > maxLines {
				t.Errorf("%s has %d lines, more than %d", path, lines, maxLines)
			}
		}
	}
}
