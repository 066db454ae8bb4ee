package store

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	bolt "go.etcd.io/bbolt"

	"github.com/gpuhealthd/gpuhealthd/remediate"
)

// Position is the last kernel record that the snapshot accounts for. A store of
// an older version has only its first two fields.
type Position struct {
	// BootID and Sequence are of /dev/kmsg; BootID is empty where nothing was read
	// from there.
	BootID   string `json:"bootID"`
	Sequence uint64 `json:"sequence"`
	// Cursor is of the journal, empty where nothing was read from there.
	Cursor string `json:"cursor,omitempty"`
	// LastMicros is the kernel's clock at the latest record, in the boot
	// LastBootID.
	LastBootID string `json:"lastBootID,omitempty"`
	LastMicros uint64 `json:"lastMicros,omitempty"`
}

// Snapshot is the daemon's memory at one moment.
type Snapshot struct {
	Position Position
	// Judge, Plan and Inventory are their owners' own bytes; nil when the
	// owner never saved any.
	Judge     json.RawMessage
	Plan      json.RawMessage
	Inventory json.RawMessage
	// Outbox holds the events not yet told, each with a key of its own. Load
	// returns them by time, then by key.
	Outbox []remediate.Event
}

var (
	bucketPosition  = []byte("position")
	bucketJudge     = []byte("judge")
	bucketPlan      = []byte("plan")
	bucketInventory = []byte("inventory")
	bucketOutbox    = []byte("outbox")

	// keyValue is the only key in the bucket of a subject.
	keyValue = []byte("value")
)

// subjectBuckets lists the buckets that hold a single value.
func subjectBuckets() [][]byte {
	return [][]byte{bucketPosition, bucketJudge, bucketPlan, bucketInventory}
}

// errUnchanged ends a transaction that has nothing to write.
var errUnchanged = errors.New("unchanged")

// Save puts what differs from the file on disk, in one transaction, and
// returns when it is there. A snapshot equal to the last one writes nothing.
// After an error the file holds what it held before; when the error matches
// ErrFull the next Save may succeed.
func (s *Store) Save(snap Snapshot) error {
	position, err := json.Marshal(snap.Position)
	if err != nil {
		return fail("save", s.path, err)
	}
	outbox, err := encodeOutbox(snap.Outbox)
	if err != nil {
		return fail("save", s.path, err)
	}
	values := [][]byte{position, snap.Judge, snap.Plan, snap.Inventory}
	err = s.run("save", func() error {
		return s.db.Update(func(tx *bolt.Tx) error {
			changed := false
			for i, name := range subjectBuckets() {
				want := map[string][]byte{}
				if values[i] != nil {
					want[string(keyValue)] = values[i]
				}
				if err := replace(tx, name, want, &changed); err != nil {
					return err
				}
			}
			if err := replace(tx, bucketOutbox, outbox, &changed); err != nil {
				return err
			}
			if !changed {
				return errUnchanged
			}
			return nil
		})
	})
	if errors.Is(err, errUnchanged) {
		return nil
	}
	return err
}

// Load returns the snapshot last saved, or the zero Snapshot from a new store.
func (s *Store) Load() (Snapshot, error) {
	var snap Snapshot
	var position json.RawMessage
	values := []*json.RawMessage{&position, &snap.Judge, &snap.Plan, &snap.Inventory}
	err := s.view("load", func(tx *bolt.Tx) error {
		for i, name := range subjectBuckets() {
			err := each(tx, name, func(key, value []byte) error {
				if !bytes.Equal(key, keyValue) {
					return fmt.Errorf("%w: bucket %s has a key %q", ErrCorrupt, name, key)
				}
				*values[i] = bytes.Clone(value)
				return nil
			})
			if err != nil {
				return err
			}
		}
		return each(tx, bucketOutbox, func(key, value []byte) error {
			var event remediate.Event
			if err := json.Unmarshal(value, &event); err != nil || event.Key != string(key) {
				return fmt.Errorf("%w: event %q in the outbox does not parse", ErrCorrupt, key)
			}
			snap.Outbox = append(snap.Outbox, event)
			return nil
		})
	})
	if err != nil {
		return Snapshot{}, err
	}
	if position != nil {
		if err := json.Unmarshal(position, &snap.Position); err != nil {
			return Snapshot{}, fail("load", s.path, fmt.Errorf("%w: position: %w", ErrCorrupt, err))
		}
	}
	slices.SortFunc(snap.Outbox, func(a, b remediate.Event) int {
		if order := a.At.Compare(b.At); order != 0 {
			return order
		}
		return strings.Compare(a.Key, b.Key)
	})
	return snap, nil
}

func encodeOutbox(events []remediate.Event) (map[string][]byte, error) {
	encoded := make(map[string][]byte, len(events))
	for _, event := range events {
		if event.Key == "" {
			return nil, fmt.Errorf("event %s %q has no key", event.Reason, event.Message)
		}
		value, err := json.Marshal(event)
		if err != nil {
			return nil, fmt.Errorf("event %s: %w", event.Key, err)
		}
		encoded[event.Key] = value
	}
	return encoded, nil
}
