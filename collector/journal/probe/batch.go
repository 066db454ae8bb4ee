package probe

import "github.com/gpuhealthd/gpuhealthd/collector/journal"

// Bounds of one report. With one message of the longest on top, and all of it
// in base64, they stay below journal.MaxLine.
const (
	maxEntries = 64
	maxBytes   = 32 << 10
)

// batch collects entries for one report.
type batch struct {
	entries []journal.Entry
	bytes   int
}

func (b *batch) add(e journal.Entry) {
	b.entries = append(b.entries, e)
	b.bytes += len(e.Text)
}

func (b *batch) full() bool { return len(b.entries) >= maxEntries || b.bytes >= maxBytes }

func (b *batch) reset() {
	clear(b.entries)
	b.entries, b.bytes = b.entries[:0], 0
}
