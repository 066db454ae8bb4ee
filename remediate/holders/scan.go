package holders

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"

	"github.com/gpuhealthd/gpuhealthd/fault"
	"github.com/gpuhealthd/gpuhealthd/remediate"
)

// Options say where to look, and for what.
type Options struct {
	// Proc is the process file system of the host, in a pod with hostPID /proc.
	Proc string
	// Dev is the folder of the device files as processes see it: /dev. It may
	// lie below another root.
	Dev string
	// GPUs are those that are looked for.
	GPUs []GPU
	// Except are process ids that do not count.
	Except []int
}

// GPU is a GPU and its device file.
type GPU struct {
	fault.Device
	// Minor is N of /dev/nvidiaN. Where it is nil, the driver's own folder in
	// Proc is asked for it.
	Minor *int
}

// Name is the UUID, or the address of a GPU that has told none.
func (g GPU) Name() string {
	if g.UUID != "" {
		return g.UUID
	}
	return g.PCI.String()
}

// Process is one that has a GPU open.
type Process struct {
	PID  int
	Name string
	// PodUID is that of its pod as the kubelet knows it, empty outside pods.
	PodUID string
	// GPUs are the names of those that it has open, each once.
	GPUs []string
	// Stuck: it was killed and cannot end, because a thread of it waits in the
	// kernel for what does not come. A reset would wait as well.
	Stuck bool
}

// Found is the answer of a scan.
type Found struct {
	// Processes are in the order of their ids.
	Processes []Process
	// Unknown is why there may be more; empty when there are none.
	Unknown string
}

// Holders gives the processes as the plan knows them, one entry for each GPU of
// each. Pod tells namespace/name by a pod's UID, or nothing.
func (f Found) Holders(pod func(uid string) string) (all []remediate.Holder) {
	for _, p := range f.Processes {
		for _, gpu := range p.GPUs {
			all = append(all, remediate.Holder{GPU: gpu, PID: p.PID, Process: p.Name, Pod: pod(p.PodUID), Stuck: p.Stuck})
		}
	}
	return all
}

// scan is one look.
type scan struct {
	Options
	// names tells by an open file what is held.
	names  func(file string) (name string, ok bool)
	hidden []error
}

// Scan looks at every process once.
func Scan(options Options) Found {
	table, err := newTable(options)
	if err != nil {
		return Found{Unknown: err.Error()}
	}
	s := scan{Options: options, names: table.gpu}
	return s.all()
}

// all looks at every process.
func (s *scan) all() Found {
	pids, err := s.pids()
	if err != nil {
		return Found{Unknown: err.Error()}
	}
	var found Found
	for _, pid := range pids {
		p, err := s.look(pid)
		switch {
		case gone(err):
		case err != nil:
			s.hidden = append(s.hidden, err)
		case len(p.GPUs) > 0:
			found.Processes = append(found.Processes, p)
		}
	}
	found.Unknown = s.unknown()
	return found
}

// pids are the ids of the processes that count, sorted.
func (s *scan) pids() (pids []int, err error) {
	if self, err := os.Readlink(filepath.Join(s.Proc, "self")); err == nil && self == "1" {
		return nil, fmt.Errorf("%s shows our own container only (hostPID is missing)", s.Proc)
	}
	names, err := list(s.Proc)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil && !slices.Contains(s.Except, pid) {
			pids = append(pids, pid)
		}
	}
	slices.Sort(pids)
	return pids, nil
}

// unknown names the first that could not be looked into.
func (s *scan) unknown() string {
	switch n := len(s.hidden); n {
	case 0:
		return ""
	case 1:
		return s.hidden[0].Error()
	default:
		return fmt.Sprintf("%v, and %d more processes", s.hidden[0], n-1)
	}
}

// gone says that what was looked at has ended meanwhile.
func gone(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ESRCH)
}

func list(folder string) ([]string, error) {
	f, err := os.Open(folder)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return f.Readdirnames(-1)
}
