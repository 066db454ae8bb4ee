package bench

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/gpuhealthd/gpuhealthd/test/daemontest"
)

// limitPeriod is the period of the kernel's CPU quota, in microseconds: what
// Kubernetes sets.
const limitPeriod = 100_000

// limitCPU gives the daemon a part of one core by a control group of its own,
// of either version; the benchmark is skipped where none can be made.
func limitCPU(b *testing.B, d *daemontest.Daemon, cores float64) {
	b.Helper()
	quota := int(cores * limitPeriod)
	for _, group := range []struct{ root, file, text string }{
		{"/sys/fs/cgroup", "cpu.max", fmt.Sprintf("%d %d", quota, limitPeriod)},
		{"/sys/fs/cgroup/cpu", "cpu.cfs_quota_us", strconv.Itoa(quota)},
	} {
		dir := filepath.Join(group.root, "gpuhealthd-bench")
		if os.MkdirAll(dir, 0o755) != nil {
			continue
		}
		b.Cleanup(func() {
			d.Kill()
			// The child ends a moment after its parent, and a group with a
			// process in it stays.
			daemontest.Await(b, "the control group is removed", func() bool { return os.Remove(dir) == nil })
		})
		if set(filepath.Join(dir, group.file), group.text) != nil {
			continue
		}
		for _, pid := range d.Family() {
			if err := set(filepath.Join(dir, "cgroup.procs"), strconv.Itoa(pid)); err != nil {
				b.Fatal(err)
			}
		}
		return
	}
	b.Skip("no control group can be given a CPU limit here: needs root and cpu.max or cpu.cfs_quota_us")
}

// set writes to a file of the kernel's, which makes none.
func set(path, text string) error {
	file, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer file.Close()
	_, err = file.WriteString(text)
	return err
}
