package host

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// fabricManager is its process's name, which the kernel cuts at 15 bytes.
const fabricManager = "nv-fabricmanage"

// FabricManager says whether a fabric manager runs, by the processes that a proc
// file system shows. In a pod it must be the host's.
func FabricManager(proc string) (bool, error) {
	names, err := filepath.Glob(filepath.Join(proc, "[0-9]*", "comm"))
	if err == nil && len(names) == 0 {
		err = fmt.Errorf("%s lists no process", proc)
	}
	if err != nil {
		return false, fmt.Errorf("look for the fabric manager: %w", err)
	}
	for _, name := range names {
		// A process that is gone by now is none.
		if text, err := os.ReadFile(name); err == nil && strings.TrimSpace(string(text)) == fabricManager {
			return true, nil
		}
	}
	return false, nil
}
