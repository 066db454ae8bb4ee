package serving

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/gpuhealthd/gpuhealthd/serving"
)

// Target is an endpoint to ask.
type Target struct {
	Replica serving.Replica
	// URL is that of its metrics, with http or https. A certificate is not checked, as
	// the kubelet does not in its probes: nothing is told to who answers.
	URL string
	// Dialect is the name of one; empty is found out.
	Dialect string
	// PID is a process that the engine needs to live; 0 is not known, and then Alive
	// is what is known of it otherwise.
	PID   int
	Alive *bool
}

// alive says whether the process behind a target lives. One that is stopped does; a
// zombie does not.
func (t Target) alive(proc string) *bool {
	if t.PID == 0 {
		return t.Alive
	}
	stat, err := os.ReadFile(filepath.Join(proc, strconv.Itoa(t.PID), "stat"))
	if errors.Is(err, fs.ErrNotExist) {
		return new(false)
	}
	// The name in parentheses may hold anything; the state stands behind it.
	end := strings.LastIndexByte(string(stat), ')')
	if err != nil || end < 0 || end+2 >= len(stat) {
		return nil
	}
	return new(!strings.ContainsRune("ZXx", rune(stat[end+2])))
}
