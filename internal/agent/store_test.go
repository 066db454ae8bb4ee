package agent

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/gpuhealthd/gpuhealthd/remediate"
	"github.com/gpuhealthd/gpuhealthd/remediate/store"
)

// failing is a store on a disk that is full for a while.
type failing struct {
	keeper
	onSave func()
	broken atomic.Bool
	saves  atomic.Int64
}

func (f *failing) Save(s store.Snapshot) error {
	if f.broken.Load() {
		return &store.Error{Op: "save", Path: "state.db", Kind: store.ErrFull, Err: syscall.ENOSPC}
	}
	f.saves.Add(1)
	f.onSave()
	err := f.keeper.Save(s)
	f.onSave()
	return err
}

func hasReset(keys []string) bool {
	return slices.ContainsFunc(keys, func(k string) bool { return strings.HasSuffix(k, "/ResetRequested") })
}

// held says whether the worst incident waits for a store that can be written.
func held(s *stage) bool {
	is := s.Status().Incidents
	return len(is) > 0 && slices.ContainsFunc(is[0].Steps, func(st remediate.Step) bool {
		return st.Kind == remediate.StepReset && st.Status == remediate.Held
	})
}

// A disk that is full when a fault comes: contained, and the reset is asked for
// only once that can be written down.
func TestStoreBreaksWhileRunning(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		s.start()
		s.polls(1)
		s.disk.broken.Store(true)
		s.hear(xid(2, uncontained), xid(2, resetAsked))
		if !s.world.cordoned() || hasReset(s.world.told()) || !held(s) {
			t.Errorf("cordoned %v, reset held %v, told %q", s.world.cordoned(), held(s), s.world.told())
		}
		if why := s.Status().NotReady(); len(why) != 1 || !strings.Contains(why[0], "no space left") {
			t.Errorf("not ready: %q", why)
		}
		s.disk.broken.Store(false)
		time.Sleep(restEvery + tickEvery)
		synctest.Wait()
		if !hasReset(s.world.told()) || held(s) || s.Status().Store != "" {
			t.Errorf("mended: told %q, held %v, store %q", s.world.told(), held(s), s.Status().Store)
		}
		if !slices.ContainsFunc(incidentsIn(t, s.onDisk()), func(i remediate.Incident) bool { return i.Asks(remediate.StepReset) }) {
			t.Error("the request is not on disk")
		}
		s.stop()
	})
}

// A store that cannot be used at the start is left alone, and the agent works
// without it.
func TestStoreBrokenAtStart(t *testing.T) {
	for name, c := range map[string]struct {
		spoil func(*stage)
		want  error
	}{
		"corrupt": {func(s *stage) { s.write("not a store at all") }, store.ErrCorrupt},
		"empty":   {func(s *stage) { s.write("") }, store.ErrCorrupt},
		"newer":   {(*stage).newer, store.ErrNewer},
		"locked":  {(*stage).locked, store.ErrLocked},
		"a folder that is not there": {func(s *stage) {
			if err := os.Symlink(filepath.Join(s.dir, "gone", "state.db"), s.statePath()); err != nil {
				s.t.Fatal(err)
			}
		}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newStage(t)
				c.spoil(s)
				before, _ := os.ReadFile(s.statePath())
				s.start()
				s.polls(1)
				s.hear(xid(2, uncontained), xid(2, resetAsked))
				time.Sleep(2 * restEvery)
				synctest.Wait()
				if !s.world.cordoned() || hasReset(s.world.told()) || !held(s) {
					t.Errorf("cordoned %v, reset held %v, told %q", s.world.cordoned(), held(s), s.world.told())
				}
				if got := s.Status().Store; c.want != nil && !strings.Contains(got, c.want.Error()) || got == "" {
					t.Errorf("the status says of the store: %q, want %v", got, c.want)
				}
				if after, _ := os.ReadFile(s.statePath()); string(after) != string(before) {
					t.Error("the store was changed")
				}
				s.stop()
			})
		})
	}
}

func (s *stage) write(text string) {
	if err := os.WriteFile(s.statePath(), []byte(text), 0o600); err != nil {
		s.t.Fatal(err)
	}
}

// newer makes a store of a format that is not known yet.
func (s *stage) newer() {
	opened, err := store.Open(s.statePath())
	if err != nil {
		s.t.Fatal(err)
	}
	if err := opened.Close(); err != nil {
		s.t.Fatal(err)
	}
	db, err := bolt.Open(s.statePath(), 0o600, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	err = db.Update(func(tx *bolt.Tx) error {
		return tx.Bucket([]byte("format")).Put([]byte("version"), []byte("99"))
	})
	if err := errors.Join(err, db.Close()); err != nil {
		s.t.Fatal(err)
	}
}

// locked lets another process's store stand in the way.
func (s *stage) locked() {
	other, err := store.Open(s.statePath())
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { other.Close() })
}

// A damaged store that is moved aside while the agent runs makes room for a new
// one, and what was held is asked for.
func TestStoreMovedAside(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		s.write("not a store at all")
		s.start()
		s.polls(1)
		s.hear(xid(2, uncontained), xid(2, resetAsked))
		if err := os.Rename(s.statePath(), s.statePath()+".aside"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(restEvery + tickEvery)
		synctest.Wait()
		if s.Status().Store != "" || !hasReset(s.world.told()) || held(s) {
			t.Errorf("store %q, told %q, held %v", s.Status().Store, s.world.told(), held(s))
		}
		s.stop()
	})
}

// A store that was refused and can be read later holds what this process does
// not know: it is not written over.
func TestAStoreOfAnotherLifeIsKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		s.start()
		s.polls(1)
		s.hear(xid(2, uncontained), xid(2, resetAsked))
		s.stop()
		kept := s.bytesOnDisk()
		s.write("not a store at all")
		s.start()
		s.polls(1)
		s.write(string(kept))
		time.Sleep(restEvery + tickEvery)
		synctest.Wait()
		if s.Status().Store == "" || string(s.bytesOnDisk()) != string(kept) {
			t.Errorf("the store of another life was used: %q", s.Status().Store)
		}
		s.stop()
	})
}

// A node at rest leaves its disk alone, and a flood does not write it line by
// line.
func TestSavesAreFew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		s.start()
		s.polls(2)
		s.disk.saves.Store(0)
		s.polls(720)
		if n := s.disk.saves.Load(); n != 0 {
			t.Errorf("%d saves in an hour of rest", n)
		}
		for range 600 {
			s.log.say("usb 1-1: a line of somebody else's")
			time.Sleep(time.Second)
		}
		if n := s.disk.saves.Swap(0); n > 41 {
			t.Errorf("%d saves for ten minutes of foreign lines, want one in 15 s at most", n)
		}
		s.hear(xid(2, uncontained), xid(2, resetAsked))
		s.disk.saves.Store(0)
		for range 1000 {
			s.log.say(xid(2, uncontained))
			time.Sleep(10 * time.Millisecond)
		}
		if n := s.disk.saves.Load(); n > 11 {
			t.Errorf("%d saves for ten seconds of a flood, want one a second at most", n)
		}
		s.stop()
	})
}
