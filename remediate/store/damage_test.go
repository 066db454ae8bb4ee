package store

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	bolt "go.etcd.io/bbolt"
)

// filled returns a store's file with pages in use, pages free and both roots,
// and the last two snapshots that were saved in it.
func filled(t testing.TB) (file []byte, before, last Snapshot) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "state.db")
	s := open(t, path)
	for n := 1; n <= 4; n++ {
		before, last = last, sample(n)
		last.Inventory = json.RawMessage(`"` + strings.Repeat("i", 3000*n) + `"`)
		for i := range 40 {
			event := sample(1).Outbox[0]
			event.Key = fmt.Sprintf("more/%03d", i)
			event.Message = strings.Repeat("m", 20*n)
			last.Outbox = append(last.Outbox, event)
		}
		if err := s.Save(last); err != nil {
			t.Fatal(err)
		}
		var err error
		if last, err = s.Load(); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	file, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return file, before, last
}

// inUse returns where the part of a file ends that holds pages; bbolt makes
// files longer than that.
func inUse(t testing.TB, file []byte) int {
	t.Helper()
	meta, err := newestMeta(bytes.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	return int(order.Uint64(meta[40:])) * os.Getpagesize()
}

// tryAll opens a file, loads it and saves to it.
func tryAll(path string) (Snapshot, error) {
	s, err := Open(path)
	if err != nil {
		return Snapshot{}, err
	}
	snap, err := s.Load()
	if err == nil {
		next := snap
		next.Position.Sequence++
		err = s.Save(next)
	}
	return snap, errors.Join(err, s.Close())
}

func write(t testing.TB, path string, content []byte) {
	t.Helper()
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
}

// A single wrong byte, wherever it lies, is refused, or it lies where nothing
// is kept. The newest root may be lost to it: then the save before stands, as
// after a crash in the midst of a save.
func TestAnyWrongByteIsRefusedOrHarmless(t *testing.T) {
	file, before, last := filled(t)
	path := filepath.Join(t.TempDir(), "state.db")
	random := rand.New(rand.NewPCG(1, 2))
	var places []int
	for page := 0; page < inUse(t, file); page += os.Getpagesize() {
		for i := range 64 {
			places = append(places, page+i)
		}
		for range 24 {
			places = append(places, page+random.IntN(os.Getpagesize()))
		}
	}
	refused := 0
	for _, at := range places {
		bad := bytes.Clone(file)
		bad[at] ^= byte(1 + random.IntN(255))
		write(t, path, bad)
		got, err := tryAll(path)
		switch {
		case errors.Is(err, ErrCorrupt), errors.Is(err, ErrNewer):
			refused++
		case err != nil:
			t.Fatalf("byte %d: %v", at, err)
		case !reflect.DeepEqual(got, last) && !reflect.DeepEqual(got, before):
			t.Fatalf("byte %d: loaded something that was never saved: %+v", at, got)
		}
	}
	t.Logf("%d of %d refused, %d bytes", refused, len(places), len(file))
	if refused == 0 {
		t.Error("no damage was seen at all")
	}
}

func TestAFileCutShortIsRefusedAndKept(t *testing.T) {
	file, _, _ := filled(t)
	path := filepath.Join(t.TempDir(), "state.db")
	page, end := os.Getpagesize(), inUse(t, file)
	for _, size := range []int{0, 1, 100, page, page + 100, 2 * page, 3*page + 7, end / 2, end - page, end - 1} {
		write(t, path, file[:size])
		_, err := tryAll(path)
		if !errors.Is(err, ErrCorrupt) {
			t.Errorf("%d of %d bytes: got %v", size, len(file), err)
			continue
		}
		if !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), aside) {
			t.Errorf("%q does not name path and remedy", err)
		}
		if kept, err := os.ReadFile(path); err != nil || !bytes.Equal(kept, file[:size]) {
			t.Errorf("%d bytes: the file was changed (%v)", size, err)
		}
	}
}

func TestForeignFilesAreRefused(t *testing.T) {
	page := os.Getpagesize()
	cases := map[string][]byte{
		"text":   []byte(strings.Repeat("not a store\n", 4000)),
		"zeroes": make([]byte, 8*page),
		"ones":   bytes.Repeat([]byte{0xFF}, 8*page),
	}
	for name, content := range cases {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "state.db")
			write(t, path, content)
			if _, err := tryAll(path); !errors.Is(err, ErrCorrupt) {
				t.Errorf("got %v", err)
			}
		})
	}
	t.Run("somebody else's bbolt file", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "state.db")
		db, err := bolt.Open(path, 0o600, nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
		if _, err := tryAll(path); !errors.Is(err, ErrCorrupt) {
			t.Errorf("got %v", err)
		}
	})
	t.Run("a format mark that is no number", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "state.db")
		mark(t, path, "one")
		if _, err := tryAll(path); !errors.Is(err, ErrCorrupt) {
			t.Errorf("got %v", err)
		}
	})
}

// The file may be cut while it is mapped: reading the map then faults.
func TestAFileCutWhileOpenIsAnErrorFromThenOn(t *testing.T) {
	file, _, _ := filled(t)
	path := filepath.Join(t.TempDir(), "state.db")
	write(t, path, file)
	s := open(t, path)
	if err := os.Truncate(path, int64(2*os.Getpagesize())); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Load(); !errors.Is(err, ErrCorrupt) {
		t.Errorf("load: got %v", err)
	}
	if err := s.Save(sample(1)); !errors.Is(err, ErrCorrupt) {
		t.Errorf("save: got %v", err)
	}
	if err := s.Close(); err != nil {
		t.Errorf("close: %v", err)
	}
}

func FuzzOpen(f *testing.F) {
	file, _, _ := filled(f)
	f.Add(file[:inUse(f, file)])
	f.Add(file[:8*os.Getpagesize()])
	f.Fuzz(func(t *testing.T, content []byte) {
		path := filepath.Join(t.TempDir(), "state.db")
		write(t, path, content)
		_, err := tryAll(path)
		if err != nil && !errors.Is(err, ErrCorrupt) && !errors.Is(err, ErrNewer) {
			t.Errorf("unclassified: %v", err)
		}
	})
}
