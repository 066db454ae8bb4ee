package kernlog

import (
	"bytes"
	"context"
	"slices"
	"testing"
	"testing/synctest"
)

func fill(t *testing.T, q *queue, records int, text []byte) {
	t.Helper()
	for i := range records {
		if !q.tryPut(Record{Micros: uint64(i)}, text) {
			t.Fatalf("full after %d records", i)
		}
	}
}

func TestQueueIsBounded(t *testing.T) {
	tests := []struct {
		name    string
		records int
		text    []byte
	}{
		{"by records", pageRecords, []byte("x")},
		{"by text", pageText / 1024, bytes.Repeat([]byte("x"), 1024)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				q := newQueue()
				fill(t, q, tt.records, tt.text)
				put := make(chan error, 1)
				go func() { put <- q.put(t.Context(), Record{Micros: 1 << 40}, tt.text) }()
				synctest.Wait()
				if len(put) != 0 {
					t.Fatal("a full queue took a record")
				}
				batch, err := q.take(t.Context())
				if err != nil || len(batch) != min(tt.records, maxBatch) {
					t.Fatalf("took %d records, %v", len(batch), err)
				}
				if err := <-put; err != nil {
					t.Fatal(err)
				}
			})
		})
	}
}

func TestQueueKeepsOrderAndText(t *testing.T) {
	q := newQueue()
	const records = 3*maxBatch + 5
	for i := range records {
		if !q.tryPut(Record{Micros: uint64(i)}, []byte{byte(i), byte(i >> 8)}) {
			t.Fatal("full")
		}
	}
	for next := 0; next < records; {
		batch, err := q.take(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, rec := range batch {
			if rec.Micros != uint64(next) || !bytes.Equal(rec.Text, []byte{byte(next), byte(next >> 8)}) {
				t.Fatalf("record %d is %d, %q", next, rec.Micros, rec.Text)
			}
			next++
		}
	}
}

func TestQueueEndsWithTheContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	q := newQueue()
	if _, err := q.take(ctx); err != context.Canceled {
		t.Errorf("take: %v", err)
	}
	fill(t, q, pageRecords, nil)
	if err := q.put(ctx, Record{}, nil); err != context.Canceled {
		t.Errorf("put: %v", err)
	}
}

func TestQueueGivesAFloodsMemoryBack(t *testing.T) {
	q := newQueue()
	text := bytes.Repeat([]byte("x"), 128)
	loads := append([]int{pageRecords, pageRecords}, slices.Repeat([]int{1}, 2*keepLoads+2)...)
	for _, records := range loads {
		fill(t, q, records, text)
		for taken := 0; taken < records; {
			batch, err := q.take(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			taken += len(batch)
		}
	}
	if kept := cap(q.filling.text) + cap(q.handed.text); kept > 2*keepText {
		t.Errorf("keeps %d bytes", kept)
	}
}
