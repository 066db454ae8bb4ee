package host

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// The names of processes, which the kernel cuts at 15 bytes.
const (
	fabricManager = "nv-fabricmanage"
	imex          = "nvidia-imex"
)

// Sees says whether a proc file system shows the host's processes, and not a pod's
// own alone: only the host has a kthreadd.
func Sees(proc string) error {
	text, err := os.ReadFile(filepath.Join(proc, "2", "comm"))
	if err == nil && strings.TrimSpace(string(text)) != "kthreadd" {
		err = errors.New("process 2 is not kthreadd")
	}
	if err != nil {
		return fmt.Errorf("see the host's processes in %s: %w", proc, err)
	}
	return nil
}

// FabricManager says whether a fabric manager runs, by the processes that a proc
// file system shows. In a pod it must be the host's.
func FabricManager(proc string) (bool, error) { return runs(proc, fabricManager) }

// IMEX says the same of a daemon of IMEX, the host's or a pod's.
func IMEX(proc string) (bool, error) { return runs(proc, imex) }

func runs(proc, process string) (bool, error) {
	names, err := filepath.Glob(filepath.Join(proc, "[0-9]*", "comm"))
	if err == nil && len(names) == 0 {
		err = fmt.Errorf("%s lists no process", proc)
	}
	if err != nil {
		return false, fmt.Errorf("look for %s: %w", process, err)
	}
	for _, name := range names {
		// A process that is gone by now is none.
		if text, err := os.ReadFile(name); err == nil && strings.TrimSpace(string(text)) == process {
			return true, nil
		}
	}
	return false, nil
}
