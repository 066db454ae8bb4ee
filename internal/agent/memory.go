package agent

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/gpuhealthd/gpuhealthd/collector/inventory"
	"github.com/gpuhealthd/gpuhealthd/collector/kernlog"
	"github.com/gpuhealthd/gpuhealthd/fault"
	"github.com/gpuhealthd/gpuhealthd/remediate"
	"github.com/gpuhealthd/gpuhealthd/remediate/store"
)

// keeper puts snapshots on disk: a store.Store.
type keeper interface {
	Save(store.Snapshot) error
	Close() error
}

// memory is what the agent remembers over its own death, and the trouble with
// that.
type memory struct {
	log     *slog.Logger
	metrics *Metrics
	// path is the store's file; empty remembers nothing, and is no trouble.
	path string
	// store is nil while it cannot be used at all.
	store keeper
	// broken is why nothing can be saved; locked says that another process has
	// the store.
	broken    string
	locked    bool
	mark      kernlog.Bookmark
	inventory inventory.Map
	saved     store.Snapshot
	// savedAt is the last try to save, or to open a store that refused.
	savedAt time.Time
}

// openMemory reads the store. Where that fails nothing is recreated: the agent
// goes on without memory, and says so.
func openMemory(path string, log *slog.Logger, metrics *Metrics) *memory {
	m := &memory{log: log, metrics: metrics, path: path, savedAt: time.Now()}
	if path == "" {
		return m
	}
	s, snap, err := load(path)
	if err != nil {
		m.locked = errors.Is(err, store.ErrLocked)
		m.fail(err)
		return m
	}
	m.store, m.saved, m.savedAt = s, snap, time.Time{}
	if len(snap.Inventory) > 0 {
		if err := json.Unmarshal(snap.Inventory, &m.inventory); err != nil {
			m.forget(fmt.Errorf("the inventory: %w", err))
			return m
		}
	}
	m.mark = bookmark(snap.Position)
	return m
}

// load opens a store and reads it; one that cannot be read is closed again.
func load(path string) (*store.Store, store.Snapshot, error) {
	s, err := store.Open(path)
	if err != nil {
		return nil, store.Snapshot{}, err
	}
	snap, err := s.Load()
	if err != nil {
		return nil, snap, errors.Join(err, s.Close())
	}
	return s, snap, nil
}

// reopen tries a store that could not be used at the start again. One that holds
// nothing is taken into use; what another one holds is not known to this
// process, which would write over it: that needs a restart. A store that
// another process has is not tried: to ask for its lock takes time.
func (m *memory) reopen(now time.Time) {
	if m.locked || now.Sub(m.savedAt) < restEvery {
		return
	}
	m.savedAt = now
	s, snap, err := load(m.path)
	switch {
	case err != nil:
		m.fail(err)
	case snap.Plan == nil && snap.Judge == nil && len(snap.Outbox) == 0:
		m.store, m.saved, m.savedAt = s, snap, time.Time{}
	default:
		m.close(s)
	}
}

// restore makes judge and plan from what was saved.
func (m *memory) restore(opts Options) (*fault.Judge, *remediate.Plan) {
	judge, plan := fault.New(opts.Judge), remediate.NewPlan(opts.Policy)
	if m.store == nil {
		return judge, plan
	}
	var err error
	if m.saved.Judge != nil {
		if judge, err = fault.Restore(opts.Judge, m.saved.Judge); err != nil {
			m.forget(err)
			return fault.New(opts.Judge), plan
		}
	}
	if m.saved.Plan != nil {
		if plan, err = remediate.RestorePlan(opts.Policy, m.saved.Plan, m.saved.Outbox); err != nil {
			m.forget(err)
			return fault.New(opts.Judge), remediate.NewPlan(opts.Policy)
		}
	}
	return judge, plan
}

// forget goes on without a store whose content is of no use.
func (m *memory) forget(err error) {
	m.close(m.store)
	m.store, m.saved, m.savedAt = nil, store.Snapshot{}, time.Now()
	m.mark, m.inventory = kernlog.Bookmark{}, inventory.Map{}
	m.fail(fmt.Errorf("store %s: %w; move it aside and restart", m.path, err))
}

func (m *memory) close(s keeper) {
	if err := s.Close(); err != nil {
		m.log.Error("close the store", "error", err)
	}
}

func (m *memory) fail(err error) {
	if m.broken == "" {
		m.log.Error("the store cannot be used: faults are detected and contained, nothing destructive is asked for", "error", err)
	}
	m.broken = err.Error()
}

// trouble says why nothing can be saved; empty when it can.
func (m *memory) trouble() string { return m.broken }
