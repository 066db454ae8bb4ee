package probe

import (
	"os"
	"path/filepath"

	driver "github.com/NVIDIA/go-nvml/pkg/nvml"
)

// libraryName is what the driver calls its library, in each of its versions.
const libraryName = "libnvidia-ml.so.1"

// inFolders opens the library of the first folder that has one, else the one that the
// system's loader finds. LD_LIBRARY_PATH would not do for the root of another system:
// the loader would take that system's libc too, which need not fit it.
func inFolders(folders []string) []driver.LibraryOption {
	for _, folder := range folders {
		path := filepath.Join(folder, libraryName)
		if _, err := os.Stat(path); err == nil {
			return []driver.LibraryOption{driver.WithLibraryPath(path)}
		}
	}
	return nil
}
