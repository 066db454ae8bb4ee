package agent

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/gpuhealthd/gpuhealthd/remediate"
	"github.com/gpuhealthd/gpuhealthd/remediate/store"
)

// onDisk reads what the store's file holds at this moment, through a copy.
func (s *stage) onDisk() store.Snapshot {
	path := filepath.Join(s.dir, "copy.db")
	if err := os.WriteFile(path, s.bytesOnDisk(), 0o600); err != nil {
		s.t.Fatal(err)
	}
	opened, err := store.Open(path)
	if err != nil {
		s.t.Fatal(err)
	}
	defer opened.Close()
	snap, err := opened.Load()
	if err != nil {
		s.t.Fatal(err)
	}
	return snap
}

// bytesOnDisk reads the file until it does not change under the reading.
func (s *stage) bytesOnDisk() []byte {
	var last []byte
	for {
		text, err := os.ReadFile(s.statePath())
		if err != nil {
			s.t.Fatal(err)
		}
		if last != nil && bytes.Equal(text, last) {
			return text
		}
		last = text
	}
}

func incidentsIn(t testing.TB, snap store.Snapshot) []remediate.Incident {
	var plan struct {
		Open []remediate.Incident `json:"open"`
	}
	if err := json.Unmarshal(snap.Plan, &plan); err != nil {
		t.Fatal(err)
	}
	return plan.Open
}

// What an actuator is asked for stands in the store's file when it is asked.
func TestDiskComesFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		claimed := 0
		s.world.onApply = func(_ context.Context, want remediate.Desired) error {
			if want.Note == nil {
				return nil
			}
			claimed++
			if !slices.ContainsFunc(incidentsIn(t, s.onDisk()), func(i remediate.Incident) bool {
				return i.Verdict.ID == want.Note.ID && i.Claimed && i.Asks(remediate.StepReset)
			}) {
				t.Errorf("asked to contain incident %s, which is not on disk", want.Note.ID)
			}
			return nil
		}
		s.world.onEmit = func(_ context.Context, e remediate.Event) error {
			if !slices.ContainsFunc(s.onDisk().Outbox, func(o remediate.Event) bool { return o.Key == e.Key }) {
				t.Errorf("asked to tell %s, which is not on disk", e.Key)
			}
			return nil
		}
		s.start()
		s.polls(1)
		s.hear(xid(3, uncontained), xid(3, resetAsked))
		if !s.world.cordoned() || claimed == 0 {
			t.Errorf("not contained; %d wishes with a claim", claimed)
		}
		if got := s.world.told(); !slices.Contains(got, "11111111-0/ResetRequested") {
			t.Errorf("told %q, without the request", got)
		}
		s.stop()
	})
}
