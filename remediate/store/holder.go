package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
)

// InUse says whether another process has the store at a path, and which: 0 where it
// cannot be seen from here. A store that is not there is in nobody's use; of one that
// may not be opened that cannot be told, which is an error.
func InUse(path string) (pid int, inUse bool, err error) {
	file, err := os.Open(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return 0, false, nil
	case err != nil:
		return 0, false, fmt.Errorf("see whether a daemon has the store: %w", err)
	}
	defer file.Close() // gives the lock back that was taken in vain
	err = syscall.Flock(int(file.Fd()), syscall.LOCK_SH|syscall.LOCK_NB)
	if !errors.Is(err, syscall.EWOULDBLOCK) {
		return 0, false, nil
	}
	return opener(file), true, nil
}

// opener finds another process that has a file open. The kernel's own list of locks
// names the file by a device that is not always the one that stat tells.
func opener(file *os.File) int {
	ours, err := file.Stat()
	if err != nil {
		return 0
	}
	open, _ := filepath.Glob("/proc/[0-9]*/fd/[0-9]*") // the pattern is well formed
	for _, fd := range open {
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(filepath.Dir(fd))))
		if err != nil || pid == os.Getpid() {
			continue
		}
		if target, err := os.Readlink(fd); err != nil || filepath.Base(target) != ours.Name() {
			continue
		}
		if theirs, err := os.Stat(fd); err == nil && os.SameFile(ours, theirs) {
			return pid
		}
	}
	return 0
}
