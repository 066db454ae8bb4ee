package store

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	bolt "go.etcd.io/bbolt"

	"github.com/gpuhealthd/gpuhealthd/remediate"
)

// sample is a snapshot whose content follows from n.
func sample(n int) Snapshot {
	at := time.Date(2026, 11, 30, 9, 0, 0, 0, time.UTC)
	snap := Snapshot{
		Position:  Position{BootID: "5c1b4e0e-5d1a-4b0e-9c2f-8d7a1f6f3c11", Sequence: uint64(n)},
		Judge:     json.RawMessage(fmt.Sprintf(`{"episodes":%d}`, n)),
		Plan:      json.RawMessage(fmt.Sprintf(`{"steps":[%d]}`, n)),
		Inventory: json.RawMessage(`{"gpus":8}`),
	}
	for i := range n % 5 {
		snap.Outbox = append(snap.Outbox, remediate.Event{
			Key: fmt.Sprintf("incident-%d/%d", n, i), Type: "Warning", Reason: "Cordoned",
			Message: "xid-79", At: at.Add(time.Duration(n*10+i) * time.Second),
		})
	}
	return snap
}

func open(t testing.TB, path string) *Store {
	t.Helper()
	s, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		// Most tests have closed it; the error of a second time is of no interest.
		_ = s.Close()
	})
	return s
}

func TestANewStoreIsEmptyAndWhole(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.db")
	s := open(t, path)
	got, err := s.Load()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(Snapshot{}, got); diff != "" {
		t.Error(diff)
	}
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) != 1 {
		t.Errorf("left behind beside the store: %v", entries)
	}
}

func TestSavedIsLoadedByTheNextProcess(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.db")
	s := open(t, path)
	for n := range 12 {
		if err := s.Save(sample(n)); err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		s = open(t, path)
		got, err := s.Load()
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(sample(n), got); diff != "" {
			t.Fatalf("snapshot %d: %s", n, diff)
		}
	}
}

func TestAValueThatIsNilIsRemoved(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "state.db"))
	for _, snap := range []Snapshot{sample(4), {}} {
		if err := s.Save(snap); err != nil {
			t.Fatal(err)
		}
	}
	got, err := s.Load()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(Snapshot{}, got); diff != "" {
		t.Error(diff)
	}
}

func TestAnEqualSnapshotWritesNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.db")
	s := open(t, path)
	if err := s.Save(sample(3)); err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Save(sample(3)); err != nil {
		t.Fatal(err)
	}
	after, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(before) != string(after) {
		t.Error("the file changed")
	}
}

func TestAnEventWithoutAKeyIsRefusedAndNothingIsSaved(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "state.db"))
	if err := s.Save(sample(2)); err != nil {
		t.Fatal(err)
	}
	bad := sample(3)
	bad.Outbox[1].Key = ""
	if err := s.Save(bad); err == nil || !strings.Contains(err.Error(), "Cordoned") {
		t.Errorf("error %v does not name the event", err)
	}
	got, err := s.Load()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(sample(2), got); diff != "" {
		t.Error(diff)
	}
}

func TestANewerFormatIsLeftAlone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.db")
	mark(t, path, "7")
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	_, err = Open(path)
	if !errors.Is(err, ErrNewer) {
		t.Fatalf("got %v", err)
	}
	for _, part := range []string{path, "format is 7", fmt.Sprintf("reads up to %d", Format), aside} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%q does not say %q", err, part)
		}
	}
	after, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(before) != string(after) {
		t.Error("the file changed")
	}
}

// mark makes a store whose format mark is text.
func mark(t *testing.T, path, text string) {
	t.Helper()
	s := open(t, path)
	err := s.db.Update(func(tx *bolt.Tx) error {
		return tx.Bucket(bucketFormat).Put(keyVersion, []byte(text))
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestASecondOpenIsLockedOut(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.db")
	open(t, path)
	_, err := Open(path)
	if !errors.Is(err, ErrLocked) {
		t.Fatalf("got %v", err)
	}
}

func TestAFolderThatIsMissingIsNamed(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "nowhere")
	path := filepath.Join(dir, "state.db")
	_, err := Open(path)
	if !errors.Is(err, os.ErrNotExist) || !errors.Is(err, ErrNoFolder) {
		t.Fatalf("got %v", err)
	}
	want := "create store " + path + ": no folder " + dir + ": no such file or directory; create the folder, or name another one in state.path"
	if err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

func TestAnErrorSaysItsKindOnce(t *testing.T) {
	for _, c := range []struct {
		err  error
		want string
	}{
		{fmt.Errorf("%w: page 3 is garbled", ErrCorrupt), "open store /s: damaged: page 3 is garbled; " + aside},
		{fmt.Errorf("lock not released within 1s: %w", ErrLocked),
			"open store /s: lock not released within 1s: in use by another process; stop the other gpuhealthd on this node, and restart this one"},
		{syscall.ENOSPC, "open store /s: no space left on device; free space on its file system"},
	} {
		if got := fail("open", "/s", c.err).Error(); got != c.want {
			t.Errorf("got %s, want %s", got, c.want)
		}
	}
}

func BenchmarkSave(b *testing.B) {
	s := open(b, filepath.Join(b.TempDir(), "state.db"))
	snap := sample(4)
	for n := 0; b.Loop(); n++ {
		snap.Position.Sequence = uint64(n)
		snap.Judge = json.RawMessage(fmt.Sprintf(`{"episodes":%d}`, n))
		if err := s.Save(snap); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkSaveUnchanged(b *testing.B) {
	s := open(b, filepath.Join(b.TempDir(), "state.db"))
	snap := sample(4)
	if err := s.Save(snap); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if err := s.Save(snap); err != nil {
			b.Fatal(err)
		}
	}
}

// A store whose file was taken away under it says so: what it would write is
// lost with the process.
func TestGone(t *testing.T) {
	for name, take := range map[string]func(path string) error{
		"removed":    os.Remove,
		"moved away": func(path string) error { return os.Rename(path, path+".aside") },
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "state.db")
			s, err := Open(path)
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			if err := take(path); err != nil {
				t.Fatal(err)
			}
			if err := s.Save(sample(1)); !errors.Is(err, ErrGone) {
				t.Errorf("save: %v, want %v", err, ErrGone)
			}
		})
	}
}

func TestWhoHasAStore(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.db")
	if pid, inUse, err := InUse(path); inUse || err != nil {
		t.Errorf("a store that is not there is in use by %d", pid)
	}
	s, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	// That we have it ourselves is seen by the lock; as who, another process sees.
	if pid, inUse, err := InUse(path); !inUse || pid != 0 || err != nil {
		t.Errorf("in use %t, by %d", inUse, pid)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if pid, inUse, err := InUse(path); inUse || err != nil {
		t.Errorf("a store that was closed is in use by %d", pid)
	}
	if _, _, err := InUse(filepath.Join(path, "state.db")); err == nil {
		t.Error("of a store that cannot be opened it is told whose it is")
	}
}
