package packages

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gpuhealthd/gpuhealthd/test/daemontest"
)

// child is the process of the machine's daemon that has the driver's library open, as
// this machine calls it.
func (m *machine) child() (pid string) {
	m.t.Helper()
	mine, err := os.Readlink("/proc/" + m.leader + "/ns/pid")
	must(m.t, err)
	daemontest.Await(m.t, "there is a child", func() bool {
		all, _ := filepath.Glob("/proc/[0-9]*/cmdline")
		for _, path := range all {
			argv, _ := os.ReadFile(path) // a process that has ended is none of ours
			if !bytes.Contains(argv, []byte("gpuhealthd\x00probe\x00nvml\x00")) {
				continue
			}
			if of, _ := os.Readlink(filepath.Dir(path) + "/ns/pid"); of == mine {
				pid = filepath.Base(filepath.Dir(path))
			}
		}
		return pid != ""
	})
	return pid
}

// freeze makes a process one that no signal ends, as one is that is stuck in the kernel,
// by a control group of either version, until the function that it returns is called.
func freeze(t testing.TB, pid string) (thaw func()) {
	t.Helper()
	const v1 = "/sys/fs/cgroup/freezer"
	group, file, frozen, thawed := filepath.Join(v1, "gpuhealthd-test-"+pid), "freezer.state", "FROZEN", "THAWED"
	if _, err := os.Stat(v1); err != nil {
		own := strings.TrimPrefix(strings.TrimSpace(read(t, "/proc/"+pid+"/cgroup")), "0::")
		group, file, frozen, thawed = filepath.Join("/sys/fs/cgroup", own, "stuck"), "cgroup.freeze", "1", "0"
	}
	must(t, os.Mkdir(group, 0o755))
	must(t, os.WriteFile(filepath.Join(group, "cgroup.procs"), []byte(pid), 0o644))
	must(t, os.WriteFile(filepath.Join(group, file), []byte(frozen), 0o644))
	return func() {
		t.Helper()
		must(t, os.WriteFile(filepath.Join(group, file), []byte(thawed), 0o644))
		daemontest.Await(t, "the child has ended", func() bool { return os.Remove(group) == nil })
	}
}
