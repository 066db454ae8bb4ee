package logfile

import (
	"bytes"
	"testing"
)

// BenchmarkRead reads a log of dmesg's from memory, up to the messages.
func BenchmarkRead(b *testing.B) {
	log := bytes.Repeat([]byte("[   14.650646] NVRM: Xid (PCI:0000:3b:00): 95, pid=7062, name=python3, Uncontained: LTC TAG (0x2, 0x1). RST: Yes, D-RST: No\n"), 10_000)
	b.SetBytes(int64(len(log)))
	b.ReportAllocs()
	for b.Loop() {
		r, err := NewReader(bytes.NewReader(log), Options{})
		if err != nil {
			b.Fatal(err)
		}
		for err == nil {
			_, err = r.Read()
		}
	}
}
