package kernlog

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"golang.org/x/sys/unix"
)

// cycle is a log that gives the same text under ascending sequence numbers.
type cycle struct {
	next, end uint64
	text      string
	stopped   <-chan struct{}
}

func (c *cycle) read(p []byte) (int, error) {
	if c.next == c.end {
		return 0, unix.EAGAIN
	}
	p = strconv.AppendUint(append(p[:0], "4,"...), c.next, 10)
	p = append(append(append(p, ",3600000000,c;"...), c.text...), '\n')
	c.next++
	return len(p), nil
}

func (c *cycle) wait() error {
	<-c.stopped
	return errStopped
}

func (c *cycle) close() {}

// BenchmarkDrain takes records from a log that is never empty to the handler:
// the reader's own share of what a record costs.
func BenchmarkDrain(b *testing.B) {
	texts := map[string]string{
		"xid":     `NVRM: Xid (PCI:0000:3b:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.`,
		"escaped": `NVRM: Xid (PCI:0000:3b:00): 31, pid=1234, name=caf\xc3\xa9 \x5c, Ch 00000008`,
	}
	for name, text := range texts {
		b.Run(name, func(b *testing.B) {
			ctx, stop := context.WithCancel(context.Background())
			r, err := NewReader(Config{Path: "scripted", BootIDPath: filepath.Join(b.TempDir(), "boot_id")})
			if err != nil {
				b.Fatal(err)
			}
			if err := os.WriteFile(r.cfg.BootIDPath, []byte("boot"), 0o600); err != nil {
				b.Fatal(err)
			}
			r.open = func(*waker) (source, error) {
				return &cycle{end: uint64(b.N), text: text, stopped: ctx.Done()}, nil
			}
			heard := 0
			b.ReportAllocs()
			b.ResetTimer()
			err = r.Run(ctx, func(batch []Record) error {
				if heard += len(batch); heard == b.N {
					stop()
				}
				return nil
			})
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "records/s")
			if !errors.Is(err, context.Canceled) || r.State().Lost != 0 {
				b.Fatalf("Run: %v; state %+v", err, r.State())
			}
		})
	}
}
