package child

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
)

// ErrEarlier means that Spec.Lock is held: a child of an earlier life of the
// agent has not ended. The error that wraps it names the process.
var ErrEarlier = errors.New("a child of an earlier run has not ended")

// ErrStopped means the same of a child that was stopped (SIGSTOP).
var ErrStopped = errors.New("a child of an earlier run is stopped, until it gets SIGCONT")

// InTheWay is what a child costs that is stuck in the kernel, whom nothing can
// end.
const InTheWay = "while it lives, its pod cannot be replaced and its GPUs cannot be reset"

// earlier names the process that holds a lock. One in another container cannot
// be seen from ours.
func earlier(lock string) error {
	who, what := "a process that cannot be seen from here", ErrEarlier
	if pid := holder(lock); pid > 0 {
		who = fmt.Sprintf("process %d", pid)
		if Stopped(pid) {
			what = ErrStopped
		}
	}
	return fmt.Errorf("%w: %s; %s", what, who, InTheWay)
}

// lockFD is where a child has its lock: behind the three standard files.
const lockFD = "3"

// holder finds the process that has a child's lock open, 0 if there is none. The
// kernel's own list, /proc/locks, names who took the lock, which was its parent.
func holder(lock string) int {
	path, err := filepath.EvalSymlinks(lock)
	if err != nil {
		return 0
	}
	open, _ := filepath.Glob("/proc/[0-9]*/fd/" + lockFD) // the pattern is well formed
	for _, fd := range open {
		if target, err := os.Readlink(fd); err != nil || target != path {
			continue
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(filepath.Dir(fd))))
		if err == nil && pid != os.Getpid() {
			return pid
		}
	}
	return 0
}
