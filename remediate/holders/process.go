package holders

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"unicode"
	"unicode/utf8"
)

// nameLimit is longer than the kernel's own limit on the name of a process.
const nameLimit = 64

// look finds out about one process.
func (s *scan) look(pid int) (Process, error) {
	p := Process{PID: pid}
	folder := filepath.Join(s.Proc, strconv.Itoa(pid))
	gpus, err := s.held(folder)
	if err != nil {
		return p, fmt.Errorf("process %d: %w", pid, err)
	}
	if len(gpus) == 0 {
		return p, nil
	}
	p.GPUs = gpus
	comm, err := os.ReadFile(filepath.Join(folder, "comm"))
	if err != nil {
		return p, fmt.Errorf("process %d: %w", pid, err)
	}
	p.Name = clean(string(comm))
	cgroup, err := os.ReadFile(filepath.Join(folder, "cgroup"))
	if err != nil {
		return p, fmt.Errorf("process %d: %w", pid, err)
	}
	p.PodUID = podUID(string(cgroup))
	p.Stuck = stuck(folder)
	return p, nil
}

// held names the GPUs that a process has open. The first thread answers for all,
// unless it has ended before the others: then each of them is asked.
func (s *scan) held(folder string) ([]string, error) {
	gpus, files, err := s.open(folder)
	if err != nil || files > 0 {
		return gpus, err
	}
	threads, err := list(filepath.Join(folder, "task"))
	if err != nil {
		return nil, err
	}
	for _, thread := range threads {
		more, _, err := s.open(filepath.Join(folder, "task", thread))
		if err != nil && !gone(err) {
			return nil, err
		}
		gpus = append(gpus, more...)
	}
	slices.Sort(gpus)
	return slices.Compact(gpus), nil
}

// open names the GPUs among the open files of a process or thread, and counts
// these files.
func (s *scan) open(folder string) (gpus []string, files int, err error) {
	folder = filepath.Join(folder, "fd")
	fds, err := list(folder)
	if err != nil {
		return nil, 0, err
	}
	for _, fd := range fds {
		file, err := os.Readlink(folder + "/" + fd)
		if gone(err) {
			continue // closed meanwhile
		}
		if err != nil {
			return nil, 0, err
		}
		if gpu, ok := s.names(file); ok {
			gpus = append(gpus, gpu)
		}
	}
	slices.Sort(gpus)
	return slices.Compact(gpus), len(fds), nil
}

// stuck says whether a thread has a SIGKILL waiting and sleeps all the same. A
// thread in a sleep that can be killed does so for a moment only.
func stuck(folder string) bool {
	threads, err := list(filepath.Join(folder, "task"))
	if err != nil {
		return false // it has ended
	}
	return slices.ContainsFunc(threads, func(thread string) bool {
		status, err := os.ReadFile(filepath.Join(folder, "task", thread, "status"))
		return err == nil && unkillable(string(status))
	})
}

func unkillable(status string) bool {
	const killed = 1 << (syscall.SIGKILL - 1)
	var sleeps, dying bool
	for line := range strings.Lines(status) {
		key, value, _ := strings.Cut(line, ":")
		value = strings.TrimSpace(value)
		switch key {
		case "State":
			sleeps = strings.HasPrefix(value, "D")
		case "SigPnd":
			pending, err := strconv.ParseUint(value, 16, 64)
			dying = err == nil && pending&killed != 0
		}
	}
	return sleeps && dying
}

// clean makes a process's name fit for a line of text.
func clean(name string) string {
	name = strings.Map(func(r rune) rune {
		if unicode.IsGraphic(r) {
			return r
		}
		return utf8.RuneError
	}, strings.TrimSuffix(name, "\n"))
	for len(name) > nameLimit {
		_, size := utf8.DecodeLastRuneInString(name)
		name = name[:len(name)-size]
	}
	return name
}
