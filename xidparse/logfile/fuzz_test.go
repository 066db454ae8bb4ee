package logfile

import (
	"bytes"
	"errors"
	"io"
	"testing"
)

// No log makes the reader panic, loop, or give more than it was given.
func FuzzRead(f *testing.F) {
	f.Add([]byte("[1.5] " + notice + "\n[1.6] " + gone))
	f.Add([]byte("__CURSOR=s=1\n_TRANSPORT=kernel\n" + binaryField("MESSAGE", notice) + "\n" + gone))
	f.Add([]byte("__CURSOR=\nNAME\n\x00\x00\x00\x30\x00\x00\x00\x00" + gone))
	f.Add([]byte("\x1f\x8b\x08\x00"))
	f.Add([]byte(`{"_TRANSPORT":"kernel","MESSAGE":"` + gone + `"}`))
	f.Fuzz(func(t *testing.T, log []byte) {
		if bytes.HasPrefix(log, gzipMagic) && len(log) > 1<<12 {
			return // a bomb would only test gzip
		}
		if refuse(log[:min(len(log), sniffed)]) != nil {
			return
		}
		r, err := NewReader(bytes.NewReader(log), Options{Kata: true})
		last := 0
		for err == nil {
			var m Message
			if m, err = r.Read(); err != nil {
				break
			}
			if m.Number <= last || len(m.Text) == 0 {
				t.Fatalf("line %d behind %d, %d bytes", m.Number, last, len(m.Text))
			}
			last = m.Number
		}
		if plain := !bytes.HasPrefix(log, gzipMagic) && !bytes.HasPrefix(log, zstdMagic); plain &&
			(!errors.Is(err, io.EOF) || last > bytes.Count(log, []byte("\n"))+1 || r.Consumed() != int64(len(log))) {
			t.Errorf("ended with %v at line %d, %d of %d bytes", err, last, r.Consumed(), len(log))
		}
	})
}
