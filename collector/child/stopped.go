package child

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
)

// Stopped says whether a process was stopped, by SIGSTOP or a debugger: then
// nothing is to be said of what it waits for. It is false while one of its threads
// is in the kernel and cannot be stopped (state D), and where nothing is known.
func Stopped(pid int) bool {
	threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid)) // the pattern is well formed
	for _, path := range threads {
		if s := state(path); s != 'T' && s != 't' {
			return false
		}
	}
	return len(threads) > 0
}

// state reads a thread's state from its stat file (proc_pid_stat(5)), 0 where it
// cannot be read. The name before it may have any bytes in it.
func state(path string) byte {
	stat, err := os.ReadFile(path)
	end := bytes.LastIndexByte(stat, ')')
	if err != nil || end < 0 || end+2 >= len(stat) {
		return 0
	}
	return stat[end+2]
}
