package daemontest

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// Family gives the daemon's process and its children.
func (d *Daemon) Family() []int {
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

// Part is one process of the daemon's family and what it costs.
type Part struct {
	// Name is daemon, or what a child asks: nvml, dcgm or journal.
	Name string
	// Memory is its proportional set size (PSS), in bytes.
	Memory int
	// CPU is the processor time that it has used.
	CPU time.Duration
}

// Parts gives the daemon and each child.
func (d *Daemon) Parts() (parts []Part) {
	d.t.Helper()
	memory := d.Memory()
	for i, pid := range d.Family() {
		command, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		if err != nil {
			d.t.Fatal(err)
		}
		name := "daemon"
		if argv := strings.Split(string(command), "\x00"); len(argv) > 2 && argv[1] == "probe" {
			name = argv[2]
		}
		parts = append(parts, Part{Name: name, Memory: memory[i], CPU: time.Duration(d.nanoseconds(pid))})
	}
	return parts
}

// Memory is the proportional set size (PSS) of the daemon and of each child, in
// bytes.
func (d *Daemon) Memory() []int { return d.each("smaps_rollup", "Pss:") }

// PeakMemory is the largest resident set of the daemon and of each child since
// they were started, in bytes.
func (d *Daemon) PeakMemory() []int { return d.each("status", "VmHWM:") }

// each reads a line in kB of a file in /proc for each of the family.
func (d *Daemon) each(file, key string) (bytes []int) {
	d.t.Helper()
	for _, pid := range d.Family() {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/%s", pid, file))
		if err != nil {
			d.t.Fatal(err)
		}
		_, value, _ := strings.Cut(string(text), key)
		number, _, _ := strings.Cut(strings.TrimSpace(value), " ")
		kb, err := strconv.Atoi(number)
		if err != nil {
			d.t.Fatalf("/proc/%d/%s: %s: %v", pid, file, key, err)
		}
		bytes = append(bytes, kb<<10)
	}
	return bytes
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
	for _, pid := range d.Family() {
		used += time.Duration(d.nanoseconds(pid))
	}
	return used
}
