package replay

import (
	"bytes"
	"fmt"
	"io"
	"testing"
)

// benchLines is how many lines the logs of the benchmark have.
const benchLines = 100_000

// floodLog is of one fault that never stops, mixedLog of one driver's line in
// fifty.
func floodLog() []byte {
	var log bytes.Buffer
	for i := range benchLines {
		fmt.Fprintf(&log, "[%12.6f] NVRM: Xid (PCI:0000:3b:00): 95, pid=%d, name=python3, Uncontained: LTC TAG (0x2, 0x%x). RST: Yes, D-RST: No\n",
			100+float64(i)/10000, 7000+i%50, i%29)
	}
	return log.Bytes()
}

func mixedLog() []byte {
	var log bytes.Buffer
	for i := range benchLines {
		if i%50 == 0 {
			fmt.Fprintf(&log, "[%12.6f] NVRM: Xid (PCI:0000:%02x:00): 13, pid=%d, name=python3, Graphics SM Warp Exception on (GPC 2, TPC 1, SM 0): Out Of Range Address\n",
				100+float64(i)/100, 0x1b+i%8, 7000+i%50)
		} else {
			fmt.Fprintf(&log, "[%12.6f] usb 1-1: new high-speed USB device number %d using xhci_hcd\n", 100+float64(i)/100, i%100)
		}
	}
	return log.Bytes()
}

// BenchmarkReplay replays whole logs, from the bytes to the last verdict.
func BenchmarkReplay(b *testing.B) {
	logs := []struct {
		name string
		log  []byte
	}{{"flood", floodLog()}, {"mixed", mixedLog()}}
	printers := []struct {
		name string
		make func() Printer
	}{
		{"text", func() Printer { return NewText(io.Discard, Style{}) }},
		{"json", func() Printer { return NewJSON(io.Discard) }},
	}
	for _, l := range logs {
		for _, p := range printers {
			b.Run(l.name+"/"+p.name, func(b *testing.B) {
				b.SetBytes(int64(len(l.log)))
				allocs := testing.AllocsPerRun(1, func() { replayBytes(b, p.make(), l.log) })
				for b.Loop() {
					replayBytes(b, p.make(), l.log)
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/benchLines, "ns/line")
				b.ReportMetric(allocs/benchLines, "allocs/line")
			})
		}
	}
}

func replayBytes(b testing.TB, out Printer, log []byte) {
	if err := New(out, Options{}).Run([]Source{{In: bytes.NewReader(log)}}); err != nil {
		b.Fatal(err)
	}
}
