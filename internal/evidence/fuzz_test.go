package evidence

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"
	"testing"
)

// FuzzRead: any text is a bundle, a damaged one or none, and whatever is read of
// it can be listed and exported.
func FuzzRead(f *testing.F) {
	var whole []byte
	for _, p := range []Piece{verdict("a"), line("NVRM: Xid"), {Kind: KindSample, Sample: &Sample{Trouble: "hung"}}, {Kind: KindDiag, Diag: json.RawMessage(`{"a":1}`)}, end()} {
		text, err := json.Marshal(p)
		if err != nil {
			f.Fatal(err)
		}
		whole = append(append(whole, text...), '\n')
	}
	f.Add(whole)
	f.Add(whole[:len(whole)/2])
	f.Add([]byte(`{"kind":"verdict"}` + "\n" + `{"kind":"line","line":null}`))
	f.Add([]byte("null\n[]\n\xff\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		b, err := Read("a", bytes.NewReader(text))
		if err != nil {
			if len(b.Pieces) > 0 {
				t.Errorf("%d pieces and %v", len(b.Pieces), err)
			}
			return
		}
		if lines := strings.Count(string(text), "\n") + 1; len(b.Pieces)+len(b.Damage) > lines {
			t.Errorf("%d pieces and %d damages of %d lines", len(b.Pieces), len(b.Damage), lines)
		}
		b.Summary()
		if err := Export(io.Discard, text, b, ""); err != nil {
			t.Error(err)
		}
	})
}
