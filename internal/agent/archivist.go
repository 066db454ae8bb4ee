package agent

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gpuhealthd/gpuhealthd/internal/evidence"
)

// Archive puts evidence on disk: an evidence.Dir. Both are called from one
// goroutine at a time; Append may hang for as long as the disk does.
type Archive interface {
	Append(id string, pieces []evidence.Piece) error
	Path(id string) string
}

const (
	// queueLimit bounds the pieces that wait for the disk; of more, the newest are
	// dropped and counted.
	queueLimit = 4096
	// diskLimit is how long a write may take before the disk counts as hung.
	diskLimit = 5 * time.Second
	// lastWrite is how long the agent's end waits for the disk.
	lastWrite = 2 * time.Second
)

// archivist brings evidence to disk, apart from everything else: whatever the disk
// does, put returns at once.
type archivist struct {
	worker
	log     *slog.Logger
	archive Archive
	metrics *Metrics

	mu    sync.Mutex
	queue []kept
	// missing counts the pieces that were dropped, by incident, and why the last
	// was.
	missing map[string]evidence.Missing

	// writing is the write under way, nil when there is none. The worker's.
	writing chan error
	// trouble is what the disk is at, nil when it is in order.
	trouble atomic.Pointer[string]
}

// kept is one piece and the incident that it belongs to.
type kept struct {
	id    string
	piece evidence.Piece
}

func newArchivist(archive Archive, log *slog.Logger, metrics *Metrics) *archivist {
	a := &archivist{log: log, archive: archive, metrics: metrics, missing: map[string]evidence.Missing{}}
	a.worker = newWorker(a.flush)
	a.rest = headStart // the cordon has the disk to itself
	return a
}

// put hands over a piece. It never waits.
func (a *archivist) put(id string, p evidence.Piece) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.queue) >= queueLimit {
		a.drop(id, 1, "the disk was too slow")
		return
	}
	a.queue = append(a.queue, kept{id, p})
	a.poke()
}

// drop counts pieces that are lost; mu is held.
func (a *archivist) drop(id string, pieces int, why string) {
	a.metrics.evidenceLost.Add(float64(pieces))
	a.missing[id] = evidence.Missing{Pieces: a.missing[id].Pieces + pieces, Why: why}
}

// take gives all that waits, by incident, with what is missing of each.
func (a *archivist) take() map[string][]evidence.Piece {
	a.mu.Lock()
	defer a.mu.Unlock()
	batch := map[string][]evidence.Piece{}
	for _, q := range a.queue {
		if m, ok := a.missing[q.id]; ok && len(batch[q.id]) == 0 {
			batch[q.id] = append(batch[q.id], evidence.Piece{Kind: evidence.KindMissing, At: q.piece.At, Missing: &m})
			delete(a.missing, q.id)
		}
		batch[q.id] = append(batch[q.id], q.piece)
	}
	a.queue = nil
	return batch
}

// flush writes what waits. It is false while the disk does not come back, and then
// it is called again.
func (a *archivist) flush(ctx context.Context) bool {
	if a.writing == nil {
		batch := a.take()
		if len(batch) == 0 {
			return true
		}
		done := make(chan error, 1)
		a.writing = done
		go func() { done <- a.write(batch) }()
	}
	limit := time.NewTimer(diskLimit)
	defer limit.Stop()
	select {
	case err := <-a.writing:
		a.writing = nil
		a.tell(err)
		return true
	case <-limit.C:
		a.tell(fmt.Errorf("the disk has not come back for %s", diskLimit))
	case <-ctx.Done():
	}
	return false
}

func (a *archivist) write(batch map[string][]evidence.Piece) (failed error) {
	for id, pieces := range batch {
		if err := a.archive.Append(id, pieces); err != nil {
			failed = err
			a.mu.Lock()
			a.drop(id, len(pieces), err.Error())
			a.mu.Unlock()
		}
	}
	return failed
}

// tell takes in how a write went, and logs where that has changed.
func (a *archivist) tell(err error) {
	before := a.trouble.Load()
	switch {
	case err == nil:
		a.trouble.Store(nil)
	case before == nil || *before != err.Error():
		text := err.Error()
		a.trouble.Store(&text)
		a.log.Warn("evidence cannot be written; all else goes on", "error", err)
	}
}

// end writes what is left, if the disk comes back in time.
func (a *archivist) end() {
	ctx, cancel := context.WithTimeout(context.Background(), lastWrite)
	defer cancel()
	for ctx.Err() == nil && a.flush(ctx) && a.waits() {
	}
}

func (a *archivist) waits() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.queue) > 0
}
