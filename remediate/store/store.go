package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime/debug"
	"strconv"
	"sync"
	"syscall"
	"time"

	bolt "go.etcd.io/bbolt"
)

// Format is the layout that this version writes, and the newest it reads.
const Format = 1

// lockTimeout is how long Open waits for another process to let go.
const lockTimeout = time.Second

var (
	bucketFormat = []byte("format")
	keyVersion   = []byte("version")
)

// Store is an open file. Its methods may be called from any goroutine.
type Store struct {
	path string

	mu sync.Mutex
	db *bolt.DB
	// file is what was opened: the path may lead elsewhere later.
	file os.FileInfo
	// broken is set when the file can no longer be trusted: its content is
	// damaged, or the disk lost what it had taken. Every later call returns it.
	broken error
}

// Open opens the store at path, whose folder must exist. A store that is not
// there is created, complete or not at all; anything that is there and is not
// a store of this format is an error, an empty file included.
func Open(path string) (*Store, error) {
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		if err := create(path); err != nil {
			return nil, fail("create", path, err)
		}
	}
	s := &Store{path: path}
	err := guard(func() (err error) {
		s.db, err = bolt.Open(path, 0o600, &bolt.Options{
			Timeout:      lockTimeout,
			OpenFile:     openChecked,
			NoStatistics: true,
		})
		return err
	})
	if err != nil {
		return nil, fail("open", path, err)
	}
	if s.file, err = os.Stat(path); err != nil {
		return nil, errors.Join(fail("open", path, err), s.Close())
	}
	if err := s.view("open", checkFormat); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// Close releases the file. After a panic of bbolt it is left to the end of the
// process: bbolt may still hold its own locks, and would wait for them.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if errors.Is(s.broken, errPanicked) {
		return nil
	}
	return fail("close", s.path, s.db.Close())
}

// openChecked is bbolt's way to open the file. It takes the lock and checks
// every page before bbolt maps one, and leaves creating to create.
func openChecked(path string, flag int, mode os.FileMode) (*os.File, error) {
	file, err := os.OpenFile(path, flag&^os.O_CREATE, mode)
	if err != nil {
		return nil, err
	}
	if err := lock(file); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	if err := check(file); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}

// lock takes the lock that bbolt will ask for, on the same descriptor.
func lock(file *os.File) error {
	for deadline := time.Now().Add(lockTimeout); ; time.Sleep(lockTimeout / 20) {
		err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		switch {
		case err == nil:
			return nil
		case !errors.Is(err, syscall.EWOULDBLOCK):
			return fmt.Errorf("lock: %w", err)
		case time.Now().After(deadline):
			return fmt.Errorf("lock not released within %v: %w", lockTimeout, ErrLocked)
		}
	}
}

func checkFormat(tx *bolt.Tx) error {
	bucket := tx.Bucket(bucketFormat)
	if bucket == nil {
		return fmt.Errorf("%w: a bbolt file without our format mark", ErrCorrupt)
	}
	text := string(bucket.Get(keyVersion))
	version, err := strconv.ParseUint(text, 10, 32)
	if err != nil || version == 0 {
		return fmt.Errorf("%w: format mark %q is not a version", ErrCorrupt, text)
	}
	if version > Format {
		return fmt.Errorf("%w: its format is %d, this program reads up to %d", ErrNewer, version, Format)
	}
	return nil
}

func (s *Store) view(op string, read func(*bolt.Tx) error) error {
	return s.run(op, func() error { return s.db.View(read) })
}

// run calls one bbolt operation and decides whether the file may be used
// afterwards.
func (s *Store) run(op string, do func() error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.broken != nil {
		return s.broken
	}
	err := fail(op, s.path, s.inPlace())
	if err == nil {
		err = fail(op, s.path, guard(do))
	}
	// After EIO the kernel may have dropped pages that it had accepted, and a
	// later sync would not say so.
	if errors.Is(err, ErrCorrupt) || errors.Is(err, ErrGone) || errors.Is(err, syscall.EIO) {
		s.broken = err
	}
	return err
}

// inPlace is an error once the path does not lead to the open file any more:
// what is written then is lost with the process.
func (s *Store) inPlace() error {
	if now, err := os.Stat(s.path); err != nil || !os.SameFile(s.file, now) {
		return ErrGone
	}
	return nil
}

// errPanicked marks the errors that guard made.
var errPanicked = errors.New("bbolt gave up")

// guard turns a panic of bbolt, and a fault on a page that the disk took away
// after it was checked, into an error.
func guard(do func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if reason := recover(); reason != nil {
			err = fmt.Errorf("%w: %v", errPanicked, reason)
		}
	}()
	return do()
}
