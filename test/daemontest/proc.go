package daemontest

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// family gives the daemon's process and its children.
func (d *Daemon) family() []int {
	d.t.Helper()
	pids := []int{d.PID()}
	tasks, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", d.PID()))
	if err != nil {
		d.t.Fatal(err)
	}
	for _, task := range tasks {
		children, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%s/children", d.PID(), task.Name()))
		if err != nil {
			continue // a thread that has ended meanwhile
		}
		for _, child := range strings.Fields(string(children)) {
			pid, err := strconv.Atoi(child)
			if err != nil {
				d.t.Fatal(err)
			}
			pids = append(pids, pid)
		}
	}
	return pids
}

// Memory is the proportional set size (PSS) of daemon and children, in bytes.
func (d *Daemon) Memory() (bytes int) { return d.sum("smaps_rollup", "Pss:") }

// PeakMemory is the largest resident set of the daemon and of each child since
// they were started, added up, in bytes.
func (d *Daemon) PeakMemory() (bytes int) { return d.sum("status", "VmHWM:") }

// sum adds up a line in kB of a file in /proc over the family.
func (d *Daemon) sum(file, key string) (sum int) {
	d.t.Helper()
	for _, pid := range d.family() {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/%s", pid, file))
		if err != nil {
			d.t.Fatal(err)
		}
		_, value, _ := bytes.Cut(text, []byte(key))
		fields := bytes.Fields(value)
		if len(fields) == 0 {
			d.t.Fatalf("/proc/%d/%s has no %s", pid, file, key)
		}
		kb, err := strconv.Atoi(string(fields[0]))
		if err != nil {
			d.t.Fatal(err)
		}
		sum += kb << 10
	}
	return sum
}

// nanoseconds is the first field of schedstat, the time on a processor. It is
// finer than the ticks in stat.
func (d *Daemon) nanoseconds(pid int) int64 {
	d.t.Helper()
	var total int64
	tasks, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	if err != nil {
		d.t.Fatal(err)
	}
	for _, task := range tasks {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%s/schedstat", pid, task.Name()))
		if err != nil {
			continue // a thread that has ended meanwhile
		}
		ns, err := strconv.ParseInt(strings.Fields(string(text))[0], 10, 64)
		if err != nil {
			d.t.Fatal(err)
		}
		total += ns
	}
	return total
}

// CPU is the processor time that daemon and children have used.
func (d *Daemon) CPU() (used time.Duration) {
	for _, pid := range d.family() {
		used += time.Duration(d.nanoseconds(pid))
	}
	return used
}
