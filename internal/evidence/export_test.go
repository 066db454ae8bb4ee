package evidence

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gpuhealthd/gpuhealthd/collector/nvml"
)

// unpack gives the files of an archive.
func unpack(t *testing.T, archive io.Reader) map[string]string {
	t.Helper()
	zip, err := gzip.NewReader(archive)
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for r := tar.NewReader(zip); ; {
		head, err := r.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		files[head.Name] = string(text)
	}
}

func TestExport(t *testing.T) {
	lost := line("one\ntwo")
	lost.Line.Micros, lost.Line.Lost = 12_000_345, 7
	b := Bundle{ID: "5c1b4e0e-12/1", Pieces: []Piece{verdict("a"), lost,
		{Kind: KindReplacement, At: opened, Replace: &Replacement{Incident: "a", Reason: "worn out", GPUs: []GPU{{Identity: nvml.Identity{Serial: "165"}, Slot: "7"}}}}}}
	var out bytes.Buffer
	if err := Export(&out, []byte("raw\n"), b, "report\n"); err != nil {
		t.Fatal(err)
	}
	files := unpack(t, &out)
	const folder = "gpuhealthd-5c1b4e0e-12%2F1/"
	if !strings.Contains(files[folder+"README.txt"], "incident 5c1b4e0e-12/1") || !strings.Contains(files[folder+"replacement.json"], `"slot": "7"`) {
		t.Errorf("%q", files)
	}
	delete(files, folder+"README.txt")
	delete(files, folder+"replacement.json")
	want := map[string]string{folder + "report.txt": "report\n", folder + "incident.jsonl": "raw\n",
		folder + "kernel.log": "-- 7 records were lost here\n[   12.000345] one\n two\n"}
	if diff := cmp.Diff(want, files); diff != "" {
		t.Error(diff)
	}
}
