package node

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
)

// Holders are the processes that have a GPU's device file open, in the order of
// their numbers; the one that asks is not counted.
func (n *Node) Holders(gpu string) (pids []int, err error) {
	c, err := n.read()
	if err != nil {
		return nil, err
	}
	g, err := c.resolve(gpu)
	if err != nil {
		return nil, err
	}
	device := n.device(c, g.Index)
	if real, err := filepath.EvalSymlinks(device); err == nil {
		device = real
	}
	links, err := filepath.Glob("/proc/[0-9]*/fd/*")
	if err != nil {
		return nil, fmt.Errorf("simulated node: %w", err)
	}
	for _, link := range links {
		// A process or a file of it may be gone by now.
		if target, err := os.Readlink(link); err != nil || target != device {
			continue
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(filepath.Dir(link))))
		if err == nil && pid != os.Getpid() {
			pids = append(pids, pid)
		}
	}
	slices.Sort(pids)
	return slices.Compact(pids), nil
}

// Open opens a GPU's device file, by the GPU's index.
func (n *Node) Open(index int) (*os.File, error) {
	c, err := n.read()
	if err != nil {
		return nil, err
	}
	return os.Open(n.device(c, index))
}

func (n *Node) device(c conf, index int) string { return n.Device(c.get(index, "minor")) }

// Device is the file that stands for /dev/nvidiaN, N being the minor number.
func (n *Node) Device(minor string) string {
	return filepath.Join(n.path(devFolder), "nvidia"+minor)
}
