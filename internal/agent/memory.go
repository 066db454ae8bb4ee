package agent

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/gpuhealthd/gpuhealthd/collector/inventory"
	"github.com/gpuhealthd/gpuhealthd/collector/kernlog"
	"github.com/gpuhealthd/gpuhealthd/collector/nvml"
	"github.com/gpuhealthd/gpuhealthd/fault"
	"github.com/gpuhealthd/gpuhealthd/remediate"
	"github.com/gpuhealthd/gpuhealthd/remediate/store"
)

// restEvery bounds how often a position that is all there is to save is saved,
// and how often a store that refuses is tried again.
const restEvery = 15 * time.Second

// memory is what the agent remembers over its own death, and the trouble with
// that.
type memory struct {
	log     *slog.Logger
	metrics *Metrics
	store   *store.Store
	// broken is why nothing can be saved.
	broken    string
	position  kernlog.Position
	inventory inventory.Map
	saved     store.Snapshot
	savedAt   time.Time
}

// openMemory reads the store. Where that fails nothing is recreated: the agent
// goes on without memory, and says so.
func openMemory(path string, log *slog.Logger, metrics *Metrics) *memory {
	m := &memory{log: log, metrics: metrics}
	s, err := store.Open(path)
	if err != nil {
		m.fail(err)
		return m
	}
	snap, err := s.Load()
	if err != nil {
		m.refuse(s, err)
		return m
	}
	if len(snap.Inventory) > 0 {
		if err := json.Unmarshal(snap.Inventory, &m.inventory); err != nil {
			m.refuse(s, fmt.Errorf("%s: the inventory: %w", path, err))
			return m
		}
	}
	m.store, m.saved = s, snap
	m.position = kernlog.Position(snap.Position)
	return m
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
			m.forget(opts.StatePath, err)
			return fault.New(opts.Judge), plan
		}
	}
	if m.saved.Plan != nil {
		if plan, err = remediate.RestorePlan(opts.Policy, m.saved.Plan, m.saved.Outbox); err != nil {
			m.forget(opts.StatePath, err)
			return fault.New(opts.Judge), remediate.NewPlan(opts.Policy)
		}
	}
	return judge, plan
}

// forget goes on without a store whose content is of no use.
func (m *memory) forget(path string, err error) {
	s := m.store
	m.store, m.position, m.inventory = nil, kernlog.Position{}, inventory.Map{}
	m.refuse(s, fmt.Errorf("%s: %w; move it aside and restart", path, err))
}

func (m *memory) refuse(s *store.Store, err error) {
	if closeErr := s.Close(); closeErr != nil {
		m.log.Error("close the store", "error", closeErr)
	}
	m.fail(err)
}

func (m *memory) fail(err error) {
	if m.broken == "" {
		m.log.Error("the store cannot be used: faults are detected and contained, nothing destructive is asked for", "error", err)
	}
	m.broken = err.Error()
	m.metrics.storeUp(false)
}

// trouble says why nothing can be saved; empty when it can.
func (m *memory) trouble() string { return m.broken }

// save writes down what has changed, in one transaction. A position that moved
// and nothing else can wait: to read a foreign line twice does no harm.
func (m *memory) save(now time.Time, judge *fault.Judge, plan *remediate.Plan) {
	if m.store == nil || m.broken != "" && now.Sub(m.savedAt) < restEvery {
		return
	}
	snap, err := m.snapshot(judge, plan)
	if err != nil {
		m.fail(err)
		return
	}
	same := slices.Equal(snap.Outbox, m.saved.Outbox) && bytes.Equal(snap.Judge, m.saved.Judge) && bytes.Equal(snap.Plan, m.saved.Plan) && bytes.Equal(snap.Inventory, m.saved.Inventory)
	if same && (snap.Position == m.saved.Position || now.Sub(m.savedAt) < restEvery) {
		return
	}
	began := time.Now()
	err = m.store.Save(snap)
	m.metrics.saved(time.Since(began))
	m.savedAt = now
	if err != nil {
		m.fail(err)
		return
	}
	if m.broken != "" {
		m.log.Info("the store can be written to again")
	}
	m.saved, m.broken = snap, ""
	m.metrics.storeUp(true)
}

func (m *memory) snapshot(judge *fault.Judge, plan *remediate.Plan) (store.Snapshot, error) {
	snap := store.Snapshot{Position: store.Position(m.position), Outbox: plan.Outbox()}
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

// dead gives the GPUs that the driver counts but cannot name any more, by what
// was known of them before.
func (m *memory) dead(inv nvml.Inventory) []fault.GPUState {
	var out []fault.GPUState
	for _, g := range m.inventory.GPUs() {
		named := slices.ContainsFunc(inv.GPUs, func(n nvml.GPU) bool { return n.UUID == g.UUID })
		if g.Lost && !named {
			out = append(out, fault.GPUState{Device: fault.Device{PCI: g.PCI, UUID: g.UUID}, Lost: true})
		}
	}
	return out
}

// flush saves whatever there is to save, the position alone too.
func (m *memory) flush(now time.Time, judge *fault.Judge, plan *remediate.Plan) {
	m.savedAt = time.Time{}
	m.save(now, judge, plan)
}

// close saves nothing; the core has.
func (m *memory) close() error {
	if m.store == nil {
		return nil
	}
	return m.store.Close()
}
