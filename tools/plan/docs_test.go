package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

func TestDocumentsAreFresh(t *testing.T) {
	for path, want := range documents() {
		got, err := os.ReadFile(filepath.Join("../..", path))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%s is stale: run go generate ./tools/plan", path)
		}
	}
}
