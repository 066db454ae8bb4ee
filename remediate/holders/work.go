package holders

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// maxAncestors bounds how far up a process's ancestors are followed: while they are read
// they may change.
const maxAncestors = 64

// Work names what a process is part of, as whoever runs the node would: the job of
// Slurm, the pod, the container or the systemd unit that its cgroup tells; else the
// topmost of its ancestors that init or somebody at a terminal has started. Processes
// of one name belong together. An error says that the process has ended, or cannot be
// looked into.
func Work(proc string, pid int) (string, error) {
	cgroup, err := os.ReadFile(filepath.Join(proc, strconv.Itoa(pid), "cgroup"))
	if err != nil {
		return "", fmt.Errorf("process %d: %w", pid, err)
	}
	if name := group(string(cgroup)); name != "" {
		return clean(name), nil
	}
	top, err := ancestor(proc, pid, string(cgroup))
	if err != nil {
		return "", fmt.Errorf("process %d: %w", pid, err)
	}
	return fmt.Sprintf("%s (pid %d)", top.comm, top.pid), nil
}

var (
	// slurmJob is what Slurm calls the cgroup of a job, below one of its own.
	slurmJob = regexp.MustCompile(`slurm.*/job_(\d+)(/|$)`)
	// containerID ends the cgroup of a container, of whatever runtime.
	containerID = regexp.MustCompile(`(?:^|[/:-])([0-9a-f]{12})[0-9a-f]{52}(?:\.scope)?(?:/|$)`)
	// unitName is a service, or what was started into a scope of its own.
	unitName = regexp.MustCompile(`^[^/]+\.(?:service|scope)$`)
	// shelter is a unit in which many start work that has nothing to do with each other:
	// logins, a user's or the system's manager, and Slurm where it keeps no cgroups.
	shelter = regexp.MustCompile(`^(?:session-[^/]*|init)\.scope$|^(?:user@[^/]*|slurmd)\.service$`)
)

// group names the work that a cgroup stands for, of version 1 or 2; empty where it
// stands for none.
func group(cgroup string) string {
	if m := slurmJob.FindStringSubmatch(cgroup); m != nil {
		return "slurm job " + m[1]
	}
	if uid := podUID(cgroup); uid != "" {
		return "pod " + uid
	}
	for line := range strings.Lines(cgroup) {
		line = strings.TrimSuffix(line, "\n")
		if m := containerID.FindStringSubmatch(line); m != nil {
			return "container " + m[1]
		}
		unit := ""
		for element := range strings.SplitSeq(line, "/") {
			if unitName.MatchString(element) {
				unit = element
			}
		}
		if unit != "" && !shelter.MatchString(unit) {
			return "unit " + unit
		}
	}
	return ""
}

// relative is a process among its ancestors.
type relative struct {
	pid, parent int
	comm        string
	// terminal: it leads a session at a terminal, as a shell does that somebody types at.
	terminal bool
}

// ancestor is the topmost one of a process in the same cgroup below a terminal's
// leader; the process itself where there is none. Who ends meanwhile ends the way up.
func ancestor(proc string, pid int, cgroup string) (top relative, err error) {
	if top, err = relativeOf(proc, pid); err != nil {
		return top, err
	}
	for range maxAncestors {
		up, err := relativeOf(proc, top.parent)
		if err != nil || top.parent <= 1 || up.terminal {
			break
		}
		if is, err := os.ReadFile(filepath.Join(proc, strconv.Itoa(up.pid), "cgroup")); err != nil || string(is) != cgroup {
			break
		}
		top = up
	}
	return top, nil
}

// relativeOf reads /proc/PID/stat: the name stands in parentheses and may hold some.
func relativeOf(proc string, pid int) (relative, error) {
	text, err := os.ReadFile(filepath.Join(proc, strconv.Itoa(pid), "stat"))
	if err != nil {
		return relative{}, err
	}
	open, end := strings.IndexByte(string(text), '('), strings.LastIndexByte(string(text), ')')
	if open < 0 || end < open {
		return relative{}, fmt.Errorf("%s: not understood", strconv.Quote(string(text)))
	}
	r := relative{pid: pid, comm: clean(string(text[open+1 : end]))}
	var state string
	var processGroup, session, terminal int
	if _, err := fmt.Sscan(string(text[end+1:]), &state, &r.parent, &processGroup, &session, &terminal); err != nil {
		return relative{}, fmt.Errorf("%.80q: %w", text, err)
	}
	r.terminal = session == pid && terminal != 0
	return r, nil
}
