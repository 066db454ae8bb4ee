package kernlog

import (
	"context"
	"sync"

	"github.com/gpuhealthd/gpuhealthd/xidparse"
)

// Bounds of one page. There are two, so the queue holds at most 64k records
// and 16 MiB of text: more than three seconds of the fastest flood measured.
const (
	pageRecords = 32 << 10
	pageText    = 8 << 20
	// maxBatch keeps the handler's transaction short when much has piled up.
	maxBatch = 4096
	// A page with more room than keepText is given up after keepLoads loads in
	// a row that needed less than a quarter of it: a flood must not cost memory
	// for good.
	keepText  = 64 << 10
	keepLoads = 8
)

// page is records and the arena that their texts lie in.
type page struct {
	records []Record
	text    []byte
	small   int // loads in a row that left most of text unused
}

func (p *page) full(text int) bool {
	return len(p.records) == pageRecords || (len(p.records) > 0 && len(p.text)+text > pageText)
}

// recycle empties the page.
func (p *page) recycle() {
	if cap(p.text) <= keepText || len(p.text) >= cap(p.text)/4 {
		p.small = 0
	} else if p.small++; p.small == keepLoads {
		*p = page{}
		return
	}
	clear(p.records)
	p.records, p.text = p.records[:0], p.text[:0]
}

// queue is two pages: the reader fills one while the other is handed over.
type queue struct {
	mu      sync.Mutex
	filling *page
	// ready and room hold one token each: something to take, space to put.
	ready, room chan struct{}

	// handed and rest belong to the taker alone.
	handed *page
	rest   []Record
}

func newQueue() *queue {
	return &queue{
		filling: new(page), handed: new(page),
		ready: make(chan struct{}, 1), room: make(chan struct{}, 1),
	}
}

// put appends rec with its escaped text and waits while the queue is full.
func (q *queue) put(ctx context.Context, rec Record, escaped []byte) error {
	for !q.tryPut(rec, escaped) {
		select {
		case <-q.room:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	notify(q.ready)
	return nil
}

func (q *queue) tryPut(rec Record, escaped []byte) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	p := q.filling
	if p.full(len(escaped)) {
		return false
	}
	start := len(p.text)
	p.text = xidparse.UnescapeKmsg(p.text, escaped)
	rec.Text = p.text[start:len(p.text):len(p.text)]
	p.records = append(p.records, rec)
	return true
}

// take waits for records and returns at most maxBatch of them, valid until the
// next call.
func (q *queue) take(ctx context.Context) ([]Record, error) {
	for len(q.rest) == 0 {
		if q.swap() {
			break
		}
		select {
		case <-q.ready:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	n := min(len(q.rest), maxBatch)
	batch := q.rest[:n]
	q.rest = q.rest[n:]
	return batch, nil
}

// swap takes the page that was being filled; it is false where that is empty.
func (q *queue) swap() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.filling.records) == 0 {
		return false
	}
	q.handed.recycle()
	q.filling, q.handed = q.handed, q.filling
	q.rest = q.handed.records
	notify(q.room)
	return true
}

// notify leaves a token unless one lies there.
func notify(token chan struct{}) {
	select {
	case token <- struct{}{}:
	default:
	}
}
