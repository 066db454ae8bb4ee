package kernlog

import (
	"bytes"
	"fmt"
	"os"
)

// DefaultBootIDPath is where Linux tells the id of the running boot.
const DefaultBootIDPath = "/proc/sys/kernel/random/boot_id"

// maxBootID is above the 36 characters of the kernel's UUID and bounds what a
// wrong path can bring into every position.
const maxBootID = 64

// Position is a place in the kernel log that survives a restart: the last
// record read. The zero value says that nothing was read yet.
type Position struct {
	// BootID is the boot that Sequence counts in.
	BootID string `json:"bootID"`
	// Sequence is the kernel's number of the record; it begins at 0 in each boot.
	Sequence uint64 `json:"sequence"`
}

// Moment is a place on the kernel's clock.
type Moment struct {
	// BootID is the boot that Micros counts in.
	BootID string
	// Micros is microseconds since that boot.
	Micros uint64
}

// in gives the clock in a boot, 0 where the moment is of another.
func (m Moment) in(boot string) uint64 {
	if m.BootID != boot {
		return 0
	}
	return m.Micros
}

// covers says whether a record of that moment is handled where m is.
func (m Moment) covers(boot string, micros uint64) bool {
	return m.BootID == boot && micros <= m.Micros
}

// Bookmark is where a later run goes on. The zero value is a first start.
type Bookmark struct {
	// Kmsg is the record of /dev/kmsg read last; zero where that is not read.
	Kmsg Position
	// Cursor is the entry of the journal read last, empty where that is not read.
	Cursor string
	// Last is the latest record of the kernel that was handled, from whichever
	// source.
	Last Moment
}

// BootID reads the id of the running boot from path, DefaultBootIDPath on a
// real node.
func BootID(path string) (string, error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("boot id: %w", err)
	}
	id := bytes.TrimSpace(raw)
	if len(id) == 0 || len(id) > maxBootID || bytes.ContainsFunc(id, notInID) {
		return "", fmt.Errorf("boot id: %s holds %.80q, not an id of 1 to %d characters", path, raw, maxBootID)
	}
	return string(id), nil
}

func notInID(r rune) bool { return r <= ' ' || r > '~' }
