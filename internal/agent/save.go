package agent

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/gpuhealthd/gpuhealthd/collector/kernlog"
	"github.com/gpuhealthd/gpuhealthd/fault"
	"github.com/gpuhealthd/gpuhealthd/remediate"
	"github.com/gpuhealthd/gpuhealthd/remediate/store"
)

// What the plan wants is saved before it is done. All else can be had again from
// the kernel log, and is saved at most so often.
const (
	// judgeEvery is for what the judge and the inventory hold: a flood is not
	// written to disk line by line.
	judgeEvery = time.Second
	// restEvery is for a place in the kernel log that is all there is to save. It
	// is also how often a store that refuses is tried again.
	restEvery = 15 * time.Second
)

// save writes down what has changed, in one transaction.
func (m *memory) save(now time.Time, judge *fault.Judge, plan *remediate.Plan) {
	if m.path == "" {
		return
	}
	if m.store == nil {
		m.reopen(now)
	}
	if m.store == nil || m.broken != "" && now.Sub(m.savedAt) < restEvery {
		return
	}
	snap, err := m.snapshot(judge, plan)
	if err != nil {
		m.fail(err)
		return
	}
	if m.broken == "" && !m.due(snap, now.Sub(m.savedAt)) {
		return
	}
	began := time.Now()
	err = m.store.Save(snap)
	m.metrics.saveSeconds.Observe(time.Since(began).Seconds())
	m.savedAt = now
	if err != nil {
		m.fail(err)
		return
	}
	if m.broken != "" {
		m.log.Info("the store can be written to again")
	}
	m.saved, m.broken = snap, ""
}

func (m *memory) snapshot(judge *fault.Judge, plan *remediate.Plan) (store.Snapshot, error) {
	snap := store.Snapshot{Position: position(m.mark), Outbox: plan.Outbox()}
	var err error
	if snap.Judge, err = judge.Snapshot(); err != nil {
		return snap, err
	}
	if snap.Plan, err = plan.Snapshot(); err != nil {
		return snap, err
	}
	if snap.Inventory, err = json.Marshal(&m.inventory); err != nil {
		return snap, fmt.Errorf("save the inventory: %w", err)
	}
	return snap, nil
}

// due says whether a snapshot has to be saved, so long after the last.
func (m *memory) due(snap store.Snapshot, since time.Duration) bool {
	switch {
	case !slices.Equal(snap.Outbox, m.saved.Outbox), !bytes.Equal(snap.Plan, m.saved.Plan):
		return true
	case !bytes.Equal(snap.Judge, m.saved.Judge), !bytes.Equal(snap.Inventory, m.saved.Inventory):
		return since >= judgeEvery
	}
	return snap.Position != m.saved.Position && since >= restEvery
}

// flush saves whatever there is to save, the position alone too.
func (m *memory) flush(now time.Time, judge *fault.Judge, plan *remediate.Plan) {
	m.savedAt = time.Time{}
	m.save(now, judge, plan)
}

// end closes the store; the core has saved.
func (m *memory) end() error {
	if m.store == nil {
		return nil
	}
	return m.store.Close()
}

// position is a bookmark as the store keeps it.
func position(b kernlog.Bookmark) store.Position {
	return store.Position{BootID: b.Kmsg.BootID, Sequence: b.Kmsg.Sequence, Cursor: b.Cursor,
		LastBootID: b.Last.BootID, LastMicros: b.Last.Micros}
}

func bookmark(p store.Position) kernlog.Bookmark {
	return kernlog.Bookmark{Kmsg: kernlog.Position{BootID: p.BootID, Sequence: p.Sequence}, Cursor: p.Cursor,
		Last: kernlog.Moment{BootID: p.LastBootID, Micros: p.LastMicros}}
}
