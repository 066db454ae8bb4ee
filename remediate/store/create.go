package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	bolt "go.etcd.io/bbolt"
)

// create makes an empty store under another name and links it to path when it
// is complete and on disk. So whatever stands at path is whole, and an empty
// or short file there is damage and not a beginning.
func create(path string) error {
	dir := filepath.Dir(path)
	draft, err := os.CreateTemp(dir, filepath.Base(path)+".new-*")
	if err != nil {
		return noDraft(dir, err)
	}
	// A draft that cannot be removed is a stray file, and the store is good.
	defer func() { _ = os.Remove(draft.Name()) }()
	if err := draft.Close(); err != nil {
		return err
	}
	if err := layOut(draft.Name()); err != nil {
		return fmt.Errorf("lay out %s: %w", draft.Name(), err)
	}
	if err := os.Link(draft.Name(), path); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return syncFolder(dir)
}

// noDraft says why a folder takes no draft, without the draft's name: nobody
// has to look for that.
func noDraft(dir string, err error) error {
	if at := (*fs.PathError)(nil); errors.As(err, &at) {
		err = at.Err
	}
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w %s: %w", ErrNoFolder, dir, err)
	}
	return fmt.Errorf("write into folder %s: %w", dir, err)
}

func layOut(path string) error {
	db, err := bolt.Open(path, 0o600, &bolt.Options{Timeout: lockTimeout, NoStatistics: true})
	if err != nil {
		return err
	}
	err = db.Update(func(tx *bolt.Tx) error {
		for _, name := range append(subjectBuckets(), bucketOutbox) {
			if _, err := tx.CreateBucket(name); err != nil {
				return err
			}
		}
		format, err := tx.CreateBucket(bucketFormat)
		if err != nil {
			return err
		}
		return format.Put(keyVersion, []byte(strconv.Itoa(Format)))
	})
	return errors.Join(err, db.Close())
}

// syncFolder puts the new name on disk.
func syncFolder(dir string) error {
	folder, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}
