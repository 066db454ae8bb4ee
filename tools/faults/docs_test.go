package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

func TestDocumentIsFresh(t *testing.T) {
	got, err := os.ReadFile(filepath.Join("../..", document))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, docs()) {
		t.Errorf("%s is stale: run go generate ./tools/faults", document)
	}
}
