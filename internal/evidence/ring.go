package evidence

import (
	"sync"
	"time"

	"github.com/gpuhealthd/gpuhealthd/collector/kernlog"
)

// A ring holds so many records and so much of their text, whichever is reached
// first: more than the kernel's own ring has on most hosts, in half a MiB.
const (
	ringRecords = 2048
	ringText    = 256 << 10
	// maxText is what is kept of one record.
	maxText = 1024
)

// Ring holds the newest records of the kernel log, whoever wrote them. To add a
// record copies it and allocates nothing. A record's place counts from 0 over the
// ring's life. It may be used from any goroutine.
type Ring struct {
	mu    sync.Mutex
	heads [ringRecords]head
	text  [ringText]byte
	// next is the place of the next record, end the sum of all texts before it.
	next, end uint64
}

// head is a record without its text, which lies at from in the sum of all.
type head struct {
	record kernlog.Record
	at     time.Time
	from   uint64
	length int
}

// Add takes records in and gives the place of the first.
func (r *Ring) Add(at time.Time, records []kernlog.Record) (first uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	first = r.next
	for i := range records {
		r.add(at, &records[i])
	}
	return first
}

func (r *Ring) add(at time.Time, rec *kernlog.Record) {
	text := rec.Text[:min(len(rec.Text), maxText)]
	h := &r.heads[r.next%ringRecords]
	h.record, h.at, h.from, h.length = *rec, at, r.end, len(text)
	h.record.Text = nil // it is its owner's
	n := copy(r.text[r.end%ringText:], text)
	copy(r.text[:], text[n:])
	r.end += uint64(len(text))
	r.next++
}

// Next is the place that the next record will have.
func (r *Ring) Next() uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.next
}

// Lines gives the records at the places from one up to before another, as pieces:
// the first of those that are still there, at most so many.
func (r *Ring) Lines(from, to uint64, most int) (lines []Piece) {
	r.mu.Lock()
	defer r.mu.Unlock()
	oldest := r.next - min(r.next, ringRecords)
	for place := max(from, oldest); place < min(to, r.next) && len(lines) < most; place++ {
		h := &r.heads[place%ringRecords]
		if h.length == 0 || r.end-h.from > ringText {
			continue
		}
		lines = append(lines, r.line(h))
	}
	return lines
}

func (r *Ring) line(h *head) Piece {
	text := make([]byte, h.length)
	n := copy(text, r.text[h.from%ringText:])
	copy(text[n:], r.text[:])
	rec := &h.record
	return Piece{Kind: KindLine, At: h.at, Line: &Line{Boot: rec.BootID, Sequence: rec.Sequence, Micros: rec.Micros,
		Lost: rec.Lost, Backlog: rec.Backlog, Late: rec.Late, Userspace: rec.Userspace, Text: string(text)}}
}
