package evidence

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// held is one bundle in the folder.
type held struct {
	id, path string
	size     int64
	changed  time.Time
}

// bundles lists the folder; one that is not there has none.
func (d *Dir) bundles() (all []held, err error) {
	entries, err := os.ReadDir(d.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		id, ours := incidentOf(e.Name())
		info, err := e.Info()
		if !ours || err != nil || !info.Mode().IsRegular() { // or it was removed meanwhile
			continue
		}
		all = append(all, held{id, filepath.Join(d.path, e.Name()), info.Size(), info.ModTime()})
	}
	return all, nil
}

// makeRoom removes bundles until one of them may grow, or come to be, by so many
// bytes: those that have ended first, the oldest of them first.
func (d *Dir) makeRoom(path string, bytes int64) error {
	all, err := d.bundles()
	if err != nil {
		return err
	}
	sum, count := bytes, 1
	others := slices.DeleteFunc(all, func(h held) bool {
		sum += h.size
		if h.path != path {
			count++
		}
		return h.path == path
	})
	if sum <= d.limits.MaxBytes && count <= d.limits.Keep {
		return nil
	}
	for _, h := range byWorth(others) {
		if sum <= d.limits.MaxBytes && count <= d.limits.Keep {
			break
		}
		if err := os.Remove(h.path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		sum, count = sum-h.size, count-1
		delete(d.full, h.id)
		delete(d.full, h.id+" bulk")
	}
	return nil
}

// byWorth orders bundles, the one that goes first to the front. One that cannot be
// read counts as ended.
func byWorth(all []held) []held {
	open := map[string]int{}
	for _, h := range all {
		if _, last, err := tail(h.path); err == nil && !ended(last) {
			open[h.path] = 1
		}
	}
	slices.SortFunc(all, func(a, b held) int {
		return cmp.Or(open[a.path]-open[b.path], a.changed.Compare(b.changed), cmp.Compare(a.path, b.path))
	})
	return all
}
