package execact

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/gpuhealthd/gpuhealthd/remediate"
)

// mark is the file's content; the zero mark is no file.
type mark struct {
	// Incident is the one that quarantine was run for, or was about to be.
	Incident *remediate.Note `json:"incident"`
	// Done says that it succeeded.
	Done bool `json:"done"`
}

func (m mark) observed() remediate.Observed {
	o := remediate.Observed{Exists: true}
	if m.Done {
		o.Unschedulable, o.Tainted, o.Note = true, true, m.Incident
	}
	return o
}

func read(path string) (m mark, err error) {
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return m, nil
	}
	if err != nil {
		return m, fmt.Errorf("what quarantine has done: %w", err)
	}
	if err := json.Unmarshal(data, &m); err != nil || m.Incident == nil {
		return mark{}, fmt.Errorf("what quarantine has done: %s is damaged; run release by hand, and remove it", path)
	}
	return m, nil
}

// write replaces the file as a whole, or not at all.
func (m mark) write(path string) error {
	data, err := json.Marshal(m)
	if err != nil {
		return fmt.Errorf("what quarantine has done: %w", err)
	}
	next, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*")
	if err != nil {
		return fmt.Errorf("what quarantine has done: %w", err)
	}
	defer func() { _ = os.Remove(next.Name()) }() // it is not there any more once it is renamed
	_, err = next.Write(data)
	if err = errors.Join(err, next.Sync(), next.Close()); err == nil {
		err = os.Rename(next.Name(), path)
	}
	if err == nil {
		err = syncFolder(path)
	}
	if err != nil {
		return fmt.Errorf("what quarantine has done: %w", err)
	}
	return nil
}

func remove(path string) error {
	if err := os.Remove(path); err != nil {
		return fmt.Errorf("what quarantine has done: %w", err)
	}
	return syncFolder(path)
}

func syncFolder(path string) error {
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}
